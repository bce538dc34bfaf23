package dynevent

import (
	"fmt"

	"ftracelab/tracer/event/probe"
)

// ShowFprobes returns the text of a file of our own: the hash tables of fprobes on the
// shadow stack.
func (d *Events) ShowFprobes() []byte {
	set := d.fprobeSet.set
	if set == nil {
		return []byte("the fprobes of this kernel have no tables: each has an ftrace_ops of its own\n")
	}
	text := []byte("by address:\n")
	for e := range set.ByAddress {
		name := "?"
		if s, ok := d.machine.Kallsyms().At(e.Func); ok {
			name = s.Name
		}
		text = fmt.Appendf(text, "  bucket %3d: %s, probe %#x\n", e.Bucket, name, e.Addr)
	}
	text = append(text, "by probe:\n"...)
	for e := range set.ByProbe {
		text = fmt.Appendf(text, "  bucket %3d: probe %#x, %d words of data, missed %d\n", e.Bucket, e.Addr, e.Probe.DataWords, e.Probe.Missed)
	}
	return text
}

// ShowPools returns the text of a file of our own: of each probe of returns that has a
// pool, how many nodes there are, how many are in use, and how many calls found none.
func (d *Events) ShowPools() []byte {
	var text []byte
	for _, e := range d.list {
		p, ok := e.(*traceProbe)
		if !ok || !p.def.Return {
			continue
		}
		switch on := p.on.(type) {
		case *traceKprobe:
			if on.hook != nil {
				text = fmt.Appendf(text, "%s/%s: %d nodes, %d in use, missed %d\n", p.def.Group, p.def.Event, on.hook.Nodes(), on.hook.InUse(), on.missed)
			}
		case *traceFprobe:
			if h := on.fp.Hook(); h != nil && p.def.Kind == probe.Fprobe {
				text = fmt.Appendf(text, "%s/%s: %d nodes, %d in use, missed %d\n", p.def.Group, p.def.Event, h.Nodes(), h.InUse(), on.fp.Missed)
			}
		}
	}
	return text
}
