package capture

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// expander replaces the stack_id entries of one CPU by the kernel_stack entries that a
// kernel without the map would have written.
type expander struct {
	ids   *stackIDs
	stack *event.Type // kernel_stack
	id    *event.Type // stack_id
	data  []byte      // the memory of the entries made last
}

// newExpander makes an expander with the types that it needs; nil if nothing has to be
// replaced.
func newExpander(ids *stackIDs, formats *formats) *expander {
	if ids == nil {
		return nil
	}
	x := &expander{ids: ids}
	for _, f := range formats.list {
		switch {
		case f.System != "ftrace":
		case f.Name == "kernel_stack":
			x.stack = formats.ByID(f.id)
		case f.Name == "stack_id":
			x.id = formats.ByID(f.id)
		}
	}
	if x.stack == nil || x.id == nil || x.stack.Field("size") == nil || x.stack.Field("caller") == nil {
		return nil
	}
	return x
}

// expand replaces the ids that the map knows. The new entries are valid until the
// next call.
func (x *expander) expand(batch []output.Entry) error {
	if x == nil {
		return nil
	}
	x.data = x.data[:0]
	for i := range batch {
		e := &batch[i]
		if len(e.Data) < event.CommonSize || int(e.Data[0])|int(e.Data[1])<<8 != x.id.ID {
			continue
		}
		id, ok := x.ids.of(x.id, e.Data)
		if !ok {
			continue
		}
		ips, ok, err := x.ids.stack(id)
		if err != nil {
			return err
		}
		if ok {
			e.Data = x.entry(e.Data, ips)
		}
	}
	return nil
}

// entry makes a kernel_stack with the common fields of another entry.
//
// Kernel: struct stack_entry, kernel/trace/trace_entries.h.
func (x *expander) entry(common []byte, ips []uint64) []byte {
	size, caller := x.stack.Field("size"), x.stack.Field("caller")
	from := len(x.data)
	x.data = append(x.data, common[:event.CommonSize]...)
	for len(x.data)-from < caller.Offset {
		x.data = append(x.data, 0)
	}
	rec := x.data[from:]
	rec[0], rec[1] = byte(x.stack.ID), byte(x.stack.ID>>8)
	for i := range size.Size {
		rec[size.Offset+i] = byte(len(ips) >> (8 * i))
	}
	for _, ip := range ips {
		x.data = append(x.data, make([]byte, 8)...)
		putWord(x.data[len(x.data)-8:], ip)
	}
	return x.data[from:len(x.data):len(x.data)]
}

// Doubts say where the stack map and the ids in the records do not fit together. They
// are complete when the text has been written.
func (t *Trace) Doubts() []string { return t.ids.doubts() }

// frameSymbols also knows the names of frames that came as text, from a stack_map.
type frameSymbols struct {
	frames *frames
	*kallsyms
}

// Lookup implements event.Symbols.
func (s frameSymbols) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	if addr&^(1<<pseudoBits-1) != pseudoKernel {
		return s.kallsyms.Lookup(addr)
	}
	text, ok := s.frames.text(addr)
	if !ok {
		return "", "", 0, 0, false
	}
	name, module, offset, size = splitFrame(text)
	return name, module, offset, size, true
}
