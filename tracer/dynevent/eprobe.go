package dynevent

import (
	"fmt"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/probe"
)

// eprobeEvents is the kind of probes on other events.
//
// Kernel: eprobe_dyn_event_ops, kernel/trace/trace_eprobe.c.
var eprobeEvents = &Kind{Name: "eprobe", Create: (*Events).createEprobe}

// Eprobe is an event that happens when another event does. Its fields are made from the
// fields of the other event. While it is enabled, the other event is enabled softly.
//
// Kernel: struct trace_eprobe, kernel/trace/trace_eprobe.c.
type Eprobe struct {
	d   *Events
	def *probe.Definition
	typ *event.Type

	in     Instance // where it listens; nil while it is off
	filter *filter.Filter
	source eventSource
	record []byte
	firing bool
}

// createEprobe makes an event from a definition. Errors: a [*probe.Error], which it has
// put into error_log.
//
// Kernel: __trace_eprobe_create, kernel/trace/trace_eprobe.c.
func (d *Events) createEprobe(command string) error {
	def, err := probe.ParseEprobe(command, probeEnv{d})
	if err != nil {
		return d.probeFault(err)
	}
	if d.types.ByName(def.Group, def.Event) != nil {
		return d.probeFault(def.Exists())
	}
	id, err := d.types.FreeID()
	if err != nil {
		return d.probeFault(def.Failed(syscall.ENODEV))
	}
	typ, err := def.NewType(id)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", def.Show(), err, syscall.EINVAL)
	}
	e := &Eprobe{d: d, def: def, typ: typ}
	if err := d.host.AddEvent(typ, e.switched); err != nil {
		return err
	}
	d.host.HoldEvent(def.Attached, true)
	d.Add(e)
	return nil
}

func (e *Eprobe) Kind() *Kind { return eprobeEvents }

func (e *Eprobe) Show() string { return e.def.Show() }

func (e *Eprobe) Busy() bool { return e.d.host.Enabled(e.typ) }

func (e *Eprobe) Match(system *string, event string, args []string) bool {
	if system == nil {
		return e.def.Match("", event, args)
	}
	return *system != "" && e.def.Match(*system, event, args)
}

// Kernel: unregister_trace_eprobe, kernel/trace/trace_eprobe.c.
func (e *Eprobe) Free() error {
	if err := e.d.host.RemoveEvent(e.typ); err != nil {
		return err
	}
	e.d.host.HoldEvent(e.def.Attached, false)
	e.d.Drop(e)
	return nil
}

// switched runs when the event is enabled or disabled in an instance. Errors: those of
// its filter.
//
// Kernel: enable_trace_eprobe and disable_trace_eprobe, kernel/trace/trace_eprobe.c.
//
// Departure: as in the kernel, the event listens only in the instance in which it was
// enabled first, and is recorded there even after it is disabled there. It stops when
// the last instance disables it. The kernel then looks for it only in that last
// instance, and may leave it attached in another one.
func (e *Eprobe) switched(in Instance, on bool) error {
	if e.d.host.Enabled(e.typ) {
		return nil
	}
	t := e.def.Attached
	if !on {
		e.in.Detach(t, e)
		e.in, e.filter = nil, nil
		return nil
	}
	if e.def.Filter != "" {
		var err error
		if e.filter, err = filter.Parse(t, e.def.Filter, in.FilterEnv()); err != nil {
			return err
		}
	}
	e.in = in
	in.Attach(t, e)
	return nil
}

// Fire records the event for a record of the other event; around is what belongs to
// that record.
//
// Kernel: __eprobe_trace_func, kernel/trace/trace_eprobe.c.
//
// Departure: if what the event causes leads to the event again, it is not recorded
// again. The kernel goes on until its ring buffer finds the nesting too deep.
func (e *Eprobe) Fire(c *machine.CPU, h event.Common, rec []byte, around Around) {
	if e.firing || e.in.SoftDisabled(e.typ) || !e.filter.Match(rec, e.d.Asked(c)) {
		return
	}
	e.firing = true
	h = h.Unpreemptible() // the buffer has room reserved for the other event
	h.Type = uint16(e.typ.ID)
	e.source.seen(e.d, c, rec)
	e.record = e.def.Append(e.record[:0], h, probe.Hit{}, &e.source)
	around.Hit = false // the stack begins as for an event
	e.in.Happen(c, e.typ, h, e.record, around)
	e.firing = false
}

// attachable reports whether a probe can be put on an event. It cannot be put on the
// tracers' own records, nor on an event that is itself a probe on an address or on an
// event.
//
// Kernel: find_and_get_event, kernel/trace/trace_eprobe.c.
func (d *Events) attachable(t *event.Type) bool {
	if t.System == "ftrace" {
		return false
	}
	for _, e := range d.list {
		switch e := e.(type) {
		case *Eprobe:
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

// ProbedEvent returns the event that an eprobe is attached to; "" if t is no eprobe.
func (d *Events) ProbedEvent(t *event.Type) string {
	for _, e := range d.list {
		if e, ok := e.(*Eprobe); ok && e.typ == t {
			return e.def.Attached.System + "." + e.def.Attached.Name
		}
	}
	return ""
}
