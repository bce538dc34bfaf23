package hist

import (
	"fmt"
	"strconv"
)

// AppendLines appends the lines of the hists in the trigger file.
func (f *File) AppendLines(dst []byte) []byte {
	for _, t := range f.all() {
		dst = t.appendLine(dst)
	}
	return dst
}

// appendLine appends the trigger's line: everything that is in force, whether
// it was written or is a default.
//
// Kernel: event_hist_trigger_print, kernel/trace/trace_events_hist.c.
func (t *Trigger) appendLine(dst []byte) []byte {
	h := t.hist
	dst = append(dst, "hist:"...)
	if t.name != "" {
		dst = append(append(dst, t.name...), ':')
	}
	dst = append(dst, "keys="...)
	for n, f := range h.keys() {
		if n > 0 {
			dst = append(dst, ',')
		}
		if f.flags&flagStacktrace != 0 {
			dst = f.appendStackName(dst)
		} else {
			dst = f.appendTo(dst)
		}
	}
	dst = h.appendVals(append(dst, ":vals="...))
	dst = h.appendSort(append(dst, ":sort="...))
	dst = strconv.AppendInt(append(dst, ":size="...), 1<<h.m.Bits(), 10)
	if h.timestamps {
		dst = append(append(dst, ":clock="...), h.attrs.clock...)
	}
	if h.attrs.nohitcount {
		dst = append(dst, ":nohitcount"...)
	}
	dst = h.appendActions(dst)
	if t.filterText != "" {
		dst = append(append(dst, " if "...), t.filterText...)
	}
	if t.paused {
		return append(dst, " [paused]\n"...)
	}
	return append(dst, " [active]\n"...)
}

// appendVals appends the values and, after a colon, the variables.
func (h *Hist) appendVals(dst []byte) []byte {
	separator := ""
	for n, f := range h.vals() {
		switch {
		case f.flags&flagVar != 0 || n == 0 && h.attrs.nohitcount:
			continue
		case n == 0:
			dst = append(dst, "hitcount"...)
		default:
			dst = f.appendTo(append(dst, separator...))
		}
		separator = ","
	}
	separator = ":"
	for _, f := range h.vals() {
		if f.flags&flagVar != 0 {
			dst = f.appendTo(append(dst, separator...))
			separator = ","
		}
	}
	return dst
}

// appendSort appends the fields by which the file sorts.
func (h *Hist) appendSort(dst []byte) []byte {
	for n, key := range h.sort {
		if n > 0 {
			dst = append(dst, ',')
		}
		if key.Field == 0 {
			dst = append(dst, "hitcount"...)
		} else {
			at := key.Field
			if at >= h.nVals-h.nVars {
				at += h.nVars // sort keys do not count the variables
			}
			dst = h.fields[at].appendTo(dst)
		}
		if key.Descending {
			dst = append(dst, ".descending"...)
		}
	}
	return dst
}

// appendTo appends a field as a trigger's line names it.
//
// Kernel: hist_field_print, kernel/trace/trace_events_hist.c.
func (f *Field) appendTo(dst []byte) []byte {
	if f.flags&flagVar != 0 { // its name may be empty
		dst = append(append(dst, f.varName...), '=')
	}
	switch {
	case f.flags&flagCPU != 0:
		dst = append(dst, "common_cpu"...)
	case f.flags&flagConst != 0:
		dst = strconv.AppendUint(dst, f.constant, 10)
	default:
		if f.flags&(flagVarRef|flagAlias) != 0 && f.on == nil {
			dst = append(dst, '$')
		}
		dst = append(dst, f.label()...)
	}
	if modifier := f.modifier(); modifier != "" && f.flags&(flagVarRef|flagExpr|flagStacktrace) == 0 {
		dst = append(append(dst, '.'), modifier...)
	}
	if f.buckets != 0 {
		dst = fmt.Appendf(dst, "=%d", f.buckets)
	}
	return dst
}

// appendStackName appends the name of a key that is a stack.
func (f *Field) appendStackName(dst []byte) []byte {
	if f.event == nil {
		return append(dst, "common_stacktrace"...)
	}
	return append(append(dst, f.event.Name...), ".stacktrace"...)
}
