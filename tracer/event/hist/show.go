package hist

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Show is the text of the event's file hist: all its hists.
//
// Kernel: hist_show and hist_trigger_show, kernel/trace/trace_events_hist.c.
func (f *File) Show() []byte {
	var dst []byte
	for n, t := range f.all() {
		if n > 0 {
			dst = append(dst, "\n\n"...)
		}
		dst = append(dst, "# event histogram\n#\n# trigger info: "...)
		dst = append(t.appendLine(dst), "#\n\n"...)
		dst = t.hist.appendEntries(dst)
		dst = t.hist.appendSnapshot(dst)
		m := t.hist.m
		dst = fmt.Appendf(dst, "\nTotals:\n    Hits: %d\n    Entries: %d\n    Dropped: %d\n", m.Hits(), m.Len(), m.Drops())
	}
	return dst
}

// stat is the maximum and the sum of a field's values in all entries.
//
// Kernel: struct hist_val_stat, kernel/trace/trace_events_hist.c.
type stat struct{ max, total uint64 }

// appendEntries appends the entries in their order.
//
// Kernel: print_entries and hist_trigger_entry_print,
// kernel/trace/trace_events_hist.c.
func (h *Hist) appendEntries(dst []byte) []byte {
	elements := h.m.Sorted(h.sort)
	stats := make([]stat, h.nVals)
	for n, f := range h.vals() {
		if f.flags&(flagPercent|flagGraph) == 0 {
			continue
		}
		for _, e := range elements {
			stats[n].total += e.Sums[n]
			stats[n].max = max(stats[n].max, e.Sums[n])
		}
	}
	for _, e := range elements {
		dst = h.appendKey(dst, e.Key, e.Comm)
		if !h.attrs.nohitcount {
			dst = fmt.Appendf(dst, " hitcount: %10d", e.Sums[0])
		}
		for n, f := range h.vals() {
			if n > 0 && f.flags&(flagVar|flagExpr) == 0 {
				dst = f.appendValue(append(dst, ' '), e.Sums[n], stats[n])
			}
		}
		dst = append(h.appendActionValues(dst, e), '\n')
	}
	return dst
}

// appendKey appends a key in its braces.
//
// Kernel: hist_trigger_print_key, kernel/trace/trace_events_hist.c.
func (h *Hist) appendKey(dst, key []byte, comm string) []byte {
	dst = append(dst, "{ "...)
	lines := false
	for n, f := range h.keys() {
		if n > 0 {
			dst = append(dst, ", "...)
		}
		at := key[f.offset : f.offset+f.size]
		if f.flags&flagStacktrace != 0 {
			dst = f.appendStackName(dst)
			if f.event == nil {
				dst = append(dst, ":\n"...)
			}
			dst = h.appendStack(dst, at)
			lines = true
			continue
		}
		dst = h.appendKeyField(dst, f, at, comm)
	}
	if !lines {
		dst = append(dst, ' ')
	}
	return append(dst, '}')
}

// appendKeyField appends a field of a key that is not a stack.
func (h *Hist) appendKeyField(dst []byte, f *Field, key []byte, comm string) []byte {
	dst = append(append(dst, f.label()...), ": "...)
	n := binary.LittleEndian.Uint64(key)
	switch flags := f.flags; {
	case flags&flagHex != 0:
		return fmt.Appendf(dst, "%x", n)
	case flags&flagSym != 0:
		return fmt.Appendf(dst, "[%x] %-45s", n, h.symbol(n, false))
	case flags&flagSymOffset != 0:
		return fmt.Appendf(dst, "[%x] %-55s", n, h.symbol(n, true))
	case flags&flagExecname != 0:
		return fmt.Appendf(dst, "%-16s[%10d]", comm, n)
	case flags&flagSyscall != 0:
		name, ok := h.file.instance.env.Syscall(int(int32(n)))
		if !ok {
			name = "unknown_syscall"
		}
		return fmt.Appendf(dst, "%-30s[%3d]", name, n)
	case flags&flagLog2 != 0:
		return fmt.Appendf(dst, "~ 2^%-2d", n)
	case flags&flagBucket != 0:
		return fmt.Appendf(dst, "~ %d-%d", n, n+f.buckets-1)
	case flags&flagString != 0:
		return fmt.Appendf(dst, "%-50s", untilNUL(key))
	}
	return fmt.Appendf(dst, "%10d", n)
}

// appendStack appends the entries of a stack, one to a line, up to the first
// that is 0.
//
// Kernel: hist_trigger_stacktrace_print, kernel/trace/trace_events_hist.c.
func (h *Hist) appendStack(dst, stack []byte) []byte {
	for n := range min(stackDepth, len(stack)/8) {
		ip := binary.LittleEndian.Uint64(stack[8*n:])
		if ip == 0 {
			break
		}
		dst = fmt.Appendf(dst, "         %s\n", h.symbol(ip, true))
	}
	return dst
}

// symbol returns an address as text: the symbol, or the number if no function
// is known.
//
// Kernel: symbol_string, lib/vsprintf.c.
func (h *Hist) symbol(addr uint64, offset bool) string {
	symbols := h.file.instance.env.Filter().Symbols
	if symbols == nil {
		return fmt.Sprintf("%#x", addr)
	}
	name, module, off, size, ok := symbols.Lookup(addr)
	if !ok {
		return fmt.Sprintf("%#x", addr)
	}
	if offset {
		name = fmt.Sprintf("%s+%#x/%#x", name, off, size)
	}
	if module != "" {
		name += " [" + module + "]"
	}
	return name
}

// appendValue appends the sum of a value.
//
// Kernel: hist_trigger_print_val, kernel/trace/trace_events_hist.c.
func (f *Field) appendValue(dst []byte, n uint64, of stat) []byte {
	name := f.label()
	switch {
	case f.flags&flagPercent != 0:
		share, ok := percentage(n, of.total)
		if !ok {
			return fmt.Appendf(dst, " %s (%%):[ERROR]", name)
		}
		return fmt.Appendf(dst, " %s (%%): %3d.%02d", name, share/100, share%100)
	case f.flags&flagGraph != 0:
		return fmt.Appendf(dst, " %s: %20s", name, bar(n, of.max))
	case f.flags&flagHex != 0:
		return fmt.Appendf(dst, " %s: %10x", name, n)
	}
	return fmt.Appendf(dst, " %s: %10d", name, n)
}

// percentage returns n of total in hundredths of a percent; ok is false if that
// cannot be computed.
//
// Kernel: __get_percentage, kernel/trace/trace_events_hist.c.
func percentage(n, total uint64) (share uint32, ok bool) {
	switch {
	case total == 0:
		return 0, n == 0
	case n < math.MaxUint64/10000:
		share = uint32(n * 10000 / total)
	case total < 10000:
		return 0, false
	default:
		share = uint32(n / (total / 10000))
	}
	return share, share != math.MaxUint32
}

// barLength is how many characters the bar of the biggest value has.
const barLength = 20

// bar draws a value as a bar whose length is relative to the biggest value.
//
// Kernel: __fill_bar_str, kernel/trace/trace_events_hist.c.
func bar(n, biggest uint64) []byte {
	share, ok := percentage(n, biggest)
	if !ok {
		return []byte("[ERROR]")
	}
	b := bytes.Repeat([]byte{' '}, barLength)
	for i := range min(int(share*barLength/10000), barLength) {
		b[i] = '#'
	}
	return b
}
