package tracer

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/probe"
	"ftracelab/workload/machine"
)

// eprobeEvents are the kind of probes on other events.
//
// Kernel: eprobe_dyn_event_ops, kernel/trace/trace_eprobe.c.
var eprobeEvents = &dynKind{name: "eprobe", create: (*Ftrace).createEprobe}

// eprobe is an event that happens when another one does, with fields made of the
// other's. While it is enabled, the other is enabled softly.
//
// Kernel: struct trace_eprobe, kernel/trace/trace_eprobe.c.
type eprobe struct {
	ft  *Ftrace
	def *probe.Definition
	typ *event.Type

	in     *Instance // where it listens; nil while it is off
	filter *filter.Filter
	source eventSource
	record []byte
	firing bool
}

// createEprobe makes an event of a definition. Errors: a [*probe.Error], which is in
// error_log then.
//
// Kernel: __trace_eprobe_create, kernel/trace/trace_eprobe.c.
func (ft *Ftrace) createEprobe(command string) error {
	def, err := probe.ParseEprobe(command, probeEnv{ft})
	if err != nil {
		return ft.probeFault(err)
	}
	if ft.types.ByName(def.Group, def.Event) != nil {
		return ft.probeFault(def.Exists())
	}
	id, err := ft.types.FreeID()
	if err != nil {
		return ft.probeFault(def.Failed(syscall.ENODEV))
	}
	typ, err := def.NewType(id)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", def.Show(), err, syscall.EINVAL)
	}
	if err := ft.addEvent(typ); err != nil {
		return err
	}
	e := &eprobe{ft: ft, def: def, typ: typ}
	ft.onSwitch(typ, e.switched)
	ft.holdEvent(def.Attached)
	ft.addDynEvent(e)
	return nil
}

func (e *eprobe) kind() *dynKind { return eprobeEvents }

func (e *eprobe) show() string { return e.def.Show() }

func (e *eprobe) busy() bool { return e.ft.enabledSomewhere(e.typ) }

func (e *eprobe) match(system *string, event string, args []string) bool {
	if system == nil {
		return e.def.Match("", event, args)
	}
	return *system != "" && e.def.Match(*system, event, args)
}

// Kernel: unregister_trace_eprobe, kernel/trace/trace_eprobe.c.
func (e *eprobe) free() error {
	if err := e.ft.removeEvent(e.typ); err != nil {
		return err
	}
	e.ft.releaseEvent(e.def.Attached)
	e.ft.dropDynEvent(e)
	return nil
}

// switched follows the event's being turned on and off. Errors: what of its filter is
// wrong.
//
// Kernel: enable_trace_eprobe and disable_trace_eprobe, kernel/trace/trace_eprobe.c.
//
// Departure: as in the kernel, the event listens in the instance alone in which it is
// enabled first, and is recorded there even when it is disabled there. It stops when it
// is disabled in the last one; the kernel looks for it in the last instance only, and
// may leave it behind.
func (e *eprobe) switched(tr *Instance, on bool) error {
	if e.ft.enabledSomewhere(e.typ) {
		return nil
	}
	t := e.def.Attached
	if !on {
		s := &e.in.events[t.ID]
		s.eprobes = slices.DeleteFunc(slices.Clone(s.eprobes), func(have *eprobe) bool { return have == e })
		e.in.softEnableEvent(t, false)
		e.in, e.filter = nil, nil
		return nil
	}
	if e.def.Filter != "" {
		var err error
		if e.filter, err = filter.Parse(t, e.def.Filter, tr.filterEnv()); err != nil {
			return err
		}
	}
	s := &tr.events[t.ID]
	s.eprobes = append(slices.Clone(s.eprobes), e)
	e.in = tr
	tr.softEnableEvent(t, true)
	return nil
}

// fire records the event for a record of the other one.
//
// Kernel: __eprobe_trace_func, kernel/trace/trace_eprobe.c.
//
// Departure: an event that comes about by what it causes itself ends there; the kernel
// ends it where its ring buffer finds it too deep.
func (e *eprobe) fire(c *machine.CPU, h event.Common, rec []byte) {
	tr := e.in
	s := &tr.events[e.typ.ID]
	if e.firing || s.softDisabled || !e.filter.Match(rec, filter.Context{CPU: c.ID, Comm: c.Current.Comm}) {
		return
	}
	e.firing = true
	h = h.Unpreemptible() // since room for the other one is taken
	h.Type = uint16(e.typ.ID)
	e.source.seen(e.ft, c, rec)
	e.record = e.def.Append(e.record[:0], h, probe.Hit{}, &e.source)
	atRegs := e.ft.atRegs
	e.ft.atRegs = false
	tr.happen(c, e.typ, h, e.record)
	e.ft.atRegs, e.firing = atRegs, false
}

// attachable reports whether a probe can be put on an event: it is not one of the
// tracers' own records nor a probe on an address or an event itself.
//
// Kernel: find_and_get_event, kernel/trace/trace_eprobe.c.
func (ft *Ftrace) attachable(t *event.Type) bool {
	if !switchable(t) {
		return false
	}
	for _, e := range ft.dynEvents {
		switch e := e.(type) {
		case *eprobe:
			if e.typ == t {
				return false
			}
		case *traceProbe:
			if kind := e.def.Kind; e.event.typ == t && (kind == probe.Kprobe || kind == probe.Uprobe) {
				return false
			}
		}
	}
	return true
}

// probedEvent is the event that an eprobe is on, "" for another event.
func (ft *Ftrace) probedEvent(t *event.Type) string {
	for _, e := range ft.dynEvents {
		if e, ok := e.(*eprobe); ok && e.typ == t {
			return e.def.Attached.System + "." + e.def.Attached.Name
		}
	}
	return ""
}
