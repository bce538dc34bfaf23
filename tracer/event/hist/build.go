package hist

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracer/event/hist/tracingmap"
)

// newHist makes the hist that a command describes. Its map and what its actions
// need are made later, when the trigger is put on the event.
//
// Kernel: create_hist_data, kernel/trace/trace_events_hist.c.
func (f *File) newHist(a attrs, remove bool) (*Hist, error) {
	h := &Hist{attrs: a, file: f, remove: remove}
	for _, step := range []func() error{
		h.parseActions, h.parseVars, h.makeVals, h.makeVars, h.makeKeys, h.makeSort,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	h.attrs.vars = nil
	for _, v := range h.vals() {
		if v.flags&flagVar != 0 {
			v.index, v.hist = h.slots, h
			h.slots++
		}
	}
	return h, nil
}

// makeVals makes the hit count and the values.
//
// Kernel: create_val_fields, kernel/trace/trace_events_hist.c.
func (h *Hist) makeVals() error {
	count, err := h.newField(nil, 0, flagHitcount, nil)
	if err != nil {
		return err
	}
	h.fields, h.nVals = append(h.fields, count), 1
	rest, more, raw := h.attrs.vals, h.attrs.vals != "", false
	for n := 0; more && n < valsMax && h.nVals < valsMax; n++ {
		var text string
		text, rest, more = strings.Cut(rest, ",")
		if text == "hitcount" && !raw {
			raw = true
			continue
		}
		if err := h.makeVal(text, 0, nil); err != nil {
			return err
		}
	}
	if h.nVals == 1 && h.attrs.nohitcount {
		return h.fault(msgNeedValue, "", syscall.ENOENT)
	}
	if more && rest != "hitcount" {
		return invalid("too many values", rest)
	}
	return nil
}

// makeVal makes a value or a variable.
//
// Kernel: __create_val_field, kernel/trace/trace_events_hist.c.
func (h *Hist) makeVal(text string, fl flags, v *varDef) error {
	f, err := h.parseExpr(text, fl, v)
	if err != nil {
		return err
	}
	barred := flagBucket | flagLog2 | flagSym | flagSymOffset | flagSyscall | flagStacktrace
	if f.flags&flagVar != 0 {
		barred = flagGraph | flagPercent | flagBucket | flagLog2
	}
	if f.flags&barred != 0 {
		return h.fault(msgFieldModifier, residue(text), syscall.EINVAL)
	}
	h.fields = append(h.fields, f)
	h.nVals++
	return nil
}

// makeVars makes the variables.
//
// Kernel: create_var_fields and create_var_field,
// kernel/trace/trace_events_hist.c.
func (h *Hist) makeVars() error {
	for n := range h.attrs.vars {
		v := &h.attrs.vars[n]
		if h.taken(v.name) {
			return h.fault(msgDuplicateVar, v.name, syscall.EINVAL)
		}
		h.nVars++
		if err := h.makeVal(v.expr, flagVar, v); err != nil {
			return err
		}
		f := h.fields[h.nVals-1]
		if f.flags&flagExecname != 0 {
			f.flags = flagString | flagVar | flagExecname
			f.fn, f.size, f.signed, f.typ = fnExecname, textMax, false, "char[]"
		}
		if f.holdsText() {
			f.text = h.varTexts
			h.varTexts++
		}
	}
	return nil
}

// holdsText reports whether a variable's value is a text or a stack of which
// the element keeps a copy. An alias keeps none; it reads the other variable's
// copy.
func (f *Field) holdsText() bool {
	return f.flags&flagAlias == 0 && f.flags&(flagString|flagStacktrace) != 0
}

// makeKeys makes the keys.
//
// Kernel: create_key_fields, kernel/trace/trace_events_hist.c.
func (h *Hist) makeKeys() error {
	rest, more := h.attrs.keys, true
	for n := 0; more && n < keysMax; n++ {
		var text string
		text, rest, more = strings.Cut(rest, ",")
		if err := h.makeKey(text); err != nil {
			return err
		}
	}
	if more {
		return invalid("too many keys", rest)
	}
	return nil
}

// Kernel: create_key_field, kernel/trace/trace_events_hist.c.
func (h *Hist) makeKey(text string) error {
	var f *Field
	var err error
	if text == "stacktrace" {
		f, err = h.newField(nil, 0, flagKey|flagStacktrace, nil)
	} else {
		f, err = h.parseExpr(text, flagKey, nil)
	}
	if err != nil {
		return err
	}
	if f.hasVars(0) {
		return h.fault(msgInvalidRefKey, residue(text), syscall.EINVAL)
	}
	f.size = (f.size + 7) &^ 7
	f.offset = h.keySize
	if h.keySize += f.size; h.keySize > keySizeMax {
		return fmt.Errorf("hist: a key of %d bytes: %w", h.keySize, syscall.EINVAL)
	}
	h.fields = append(h.fields, f)
	return nil
}

// makeSort finds the fields to sort by.
//
// Kernel: create_sort_keys, kernel/trace/trace_events_hist.c.
func (h *Hist) makeSort() error {
	if h.attrs.sort == "" {
		h.sort = []tracingmap.SortKey{{}}
		return nil
	}
	rest, more := h.attrs.sort, true
	for n := 0; more && n < sortKeysMax; n++ {
		var text string
		text, rest, more = strings.Cut(rest, ",")
		name, order, ordered := strings.Cut(text, ".")
		switch {
		case text == "":
			return h.fault(msgEmptySort, "sort=", syscall.EINVAL)
		case n == sortKeysMax-1 && more:
			return h.fault(msgTooManySorts, "sort=", syscall.EINVAL)
		case name == "":
			return h.fault(msgEmptySort, "sort=", syscall.EINVAL)
		}
		at := h.sortField(name)
		if at < 0 {
			return h.fault(msgSortField, name, syscall.EINVAL)
		}
		if ordered && order != "descending" && order != "ascending" {
			return h.fault(msgSortModifier, order, syscall.EINVAL)
		}
		h.sort = append(h.sort, tracingmap.SortKey{Field: at, Descending: order == "descending"})
	}
	return nil
}

// sortField returns the place of a value or key among the fields to sort by: 0
// for the hit count, -1 if no field has that name.
func (h *Hist) sortField(name string) int {
	if name == "hitcount" {
		return 0
	}
	at := 0
	for _, f := range h.fields[1:] {
		if f.flags&flagVar != 0 {
			continue
		}
		if at++; f.label() == name {
			return at
		}
	}
	return -1
}

// mapsMax is how many bytes the maps of all instances may take together.
//
// Departure: a kernel refuses a hist trigger with ENOMEM when its memory is
// used up; the emulation does so when all maps together would take more than 1
// GiB if they were full.
const mapsMax = 1 << 30

// makeMap makes the map of a hist whose fields are known. Errors: ENOMEM.
//
// Kernel: create_tracing_map_fields, kernel/trace/trace_events_hist.c.
func (h *Hist) makeMap(bits int) error {
	var fields []tracingmap.Field
	for _, f := range h.fields {
		switch {
		case f.flags&flagKey != 0:
			fields = append(fields, tracingmap.Field{Compare: f.order(), Offset: f.offset})
		case f.flags&flagVar == 0:
			fields = append(fields, tracingmap.Field{})
		}
	}
	m := tracingmap.New(bits, h.keySize, fields, h.slots, h.texts())
	r := h.file.instance.registry
	if r.bytes+m.Bytes() > mapsMax {
		return fmt.Errorf("hist: %d entries, and there are hists of %d bytes: %w", 1<<bits, r.bytes, syscall.ENOMEM)
	}
	h.m = m
	r.bytes += m.Bytes()
	return nil
}

// order returns how a key is ordered.
func (f *Field) order() tracingmap.Compare {
	switch {
	case f.flags&flagStacktrace != 0:
		return tracingmap.Unordered
	case f.event == nil || f.flags&flagCPU != 0:
		return tracingmap.ByNumber(f.size, f.signed)
	case f.kind.IsText():
		return tracingmap.ByText
	}
	return tracingmap.ByNumber(f.event.Size, f.event.Signed)
}
