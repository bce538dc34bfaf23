package tracer

import (
	"strings"

	"ftracelab/machine"
	"ftracelab/tracer/event"
)

// said runs at every enabled event of a learned activity: it makes the record from the
// arguments. Probes on tracepoints and the tracers of other packages do not see these
// events.
//
// Departure: a tprobe or an fprobe on a tracepoint of a subsystem that the machine has
// only from captures never fires.
func (ft *Ftrace) said(c *machine.CPU, s machine.Said) {
	t := ft.learnedType(s.Name)
	if t == nil || !ft.listening[t.ID] {
		return
	}
	h := common(c)
	h.Type = uint16(t.ID)
	ft.scratch = t.AppendValues(ft.scratch[:0], h, s)
	ft.emit(&happening{cpu: c, t: t, h: h, data: ft.scratch})
}

// learnedType returns the type of an event with that name; nil if the kernel has none.
func (ft *Ftrace) learnedType(name string) *event.Type {
	t, ok := ft.learned[name]
	if !ok {
		system, event, _ := strings.Cut(name, ":")
		t = ft.types.ByName(system, event)
		ft.learned[name] = t
	}
	return t
}
