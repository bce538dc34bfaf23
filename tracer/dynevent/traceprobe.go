package dynevent

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// traceProbe is one definition of a probe event: a line of dynamic_events.
//
// Kernel: struct trace_probe, kernel/trace/trace_probe.h.
type traceProbe struct {
	d     *Events
	def   *probe.Definition
	event *probeEvent
	on    attachment
}

// attachment is the part of a probe that sits in the kernel.
type attachment interface {
	// register puts it there. Errors: an errno, or a fault of the definition.
	register() error
	unregister()
	// enable lets the probe record. It is called only while the probe is registered or
	// waits for a module.
	enable(on bool) error
}

// probeEvent is an event with its probes. Each of the probes records the event.
//
// Kernel: struct trace_probe_event, kernel/trace/trace_probe.h.
type probeEvent struct {
	d      *Events
	typ    *event.Type
	probes []*traceProbe
}

// probeEventOf returns the event of that name that has probes of that kind; nil if there
// is none.
//
// Kernel: find_trace_kprobe, kernel/trace/trace_kprobe.c.
func (d *Events) probeEventOf(kind probe.Kind, group, name string) *probeEvent {
	for _, e := range d.list {
		if p, ok := e.(*traceProbe); ok && sameKind(p.def.Kind, kind) && p.def.Group == group && p.def.Event == name {
			return p.event
		}
	}
	return nil
}

// sameKind reports whether probes of two kinds can belong to one event. Probes on
// tracepoints and probes on the entries and exits of functions count as one kind.
func sameKind(a, b probe.Kind) bool {
	one := func(k probe.Kind) probe.Kind {
		if k == probe.Tracepoint {
			return probe.Fprobe
		}
		return k
	}
	return one(a) == one(b)
}

// registerProbe adds a probe to the event that it names; if there is none, it makes a
// new event. Errors: a [*probe.Error], which it has put into error_log.
//
// Kernel: register_trace_kprobe and append_trace_kprobe, kernel/trace/trace_kprobe.c;
// the same of uprobes and fprobes.
func (d *Events) registerProbe(p *traceProbe) error {
	p.event = d.probeEventOf(p.def.Kind, p.def.Group, p.def.Event)
	if p.event != nil {
		return d.probeFault(d.appendProbe(p))
	}
	if d.types.ByName(p.def.Group, p.def.Event) != nil {
		return d.probeFault(p.def.Exists())
	}
	id, err := d.types.FreeID()
	if err != nil {
		return d.probeFault(p.def.Failed(syscall.ENODEV))
	}
	typ, err := p.def.NewType(id)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", p.def.Show(), err, syscall.EINVAL)
	}
	p.event = &probeEvent{d: d, typ: typ, probes: []*traceProbe{p}}
	if err := d.host.AddEvent(typ, p.event.switched); err != nil {
		return err
	}
	if err := p.register(); err != nil {
		_ = d.host.RemoveEvent(typ) // cannot fail: no one uses it yet
		return d.probeFault(err)
	}
	d.Add(p)
	return nil
}

func (d *Events) appendProbe(p *traceProbe) error {
	var siblings []*probe.Definition
	for _, s := range p.event.probes {
		siblings = append(siblings, s.def)
	}
	if err := p.def.CheckAppend(siblings); err != nil {
		return err
	}
	p.event.probes = append(p.event.probes, p)
	if err := p.register(); err != nil {
		p.event.drop(p)
		return err
	}
	d.Add(p)
	d.host.Rehook()
	return nil
}

// register registers the probe. It turns an errno into a fault of the definition.
func (p *traceProbe) register() error {
	err := p.on.register()
	var fault *probe.Error
	var errno syscall.Errno
	if errors.As(err, &fault) || !errors.As(err, &errno) {
		return err
	}
	return p.def.Failed(errno)
}

// enabled reports whether the event is enabled somewhere.
func (e *probeEvent) enabled() bool { return e.d.host.Enabled(e.typ) }

func (e *probeEvent) drop(p *traceProbe) {
	e.probes = slices.DeleteFunc(e.probes, func(have *traceProbe) bool { return have == p })
}

// switched runs when the event is enabled or disabled in an instance. When the first
// instance enables it, all its probes are enabled, or none if one fails. When the last
// instance disables it, all its probes are disabled.
//
// Kernel: enable_trace_kprobe and disable_trace_kprobe, kernel/trace/trace_kprobe.c.
func (e *probeEvent) switched(_ Instance, on bool) error {
	if e.enabled() {
		return nil
	}
	for n, p := range e.probes {
		if err := p.on.enable(on); err != nil && on {
			for _, q := range e.probes[:n] {
				_ = q.on.enable(false)
			}
			return err
		}
	}
	return nil
}

// Kind returns the kind of the definition.
func (p *traceProbe) Kind() *Kind {
	switch p.def.Kind {
	case probe.Kprobe:
		return kprobeEvents
	case probe.Fprobe, probe.Tracepoint:
		return fprobeEvents
	case probe.Uprobe:
		return uprobeEvents
	}
	panic("dynevent: invariant: a probe of no kind")
}

func (p *traceProbe) Show() string { return p.def.Show() }

func (p *traceProbe) Busy() bool { return p.event.enabled() }

// Free deletes the probe. If it is the last one of its event, it deletes the event, too.
//
// Kernel: unregister_trace_kprobe, kernel/trace/trace_kprobe.c.
func (p *traceProbe) Free() error {
	if len(p.event.probes) == 1 {
		if err := p.d.host.RemoveEvent(p.event.typ); err != nil {
			return err
		}
	}
	p.on.unregister()
	p.event.drop(p)
	p.d.Drop(p)
	if len(p.event.probes) > 0 {
		p.d.host.Rehook()
	}
	return nil
}

func (p *traceProbe) Match(system *string, event string, args []string) bool {
	if system == nil {
		return p.def.Match("", event, args)
	}
	return *system != "" && p.def.Match(*system, event, args)
}

// record records a hit in every instance that has the event enabled. The stack of the
// event begins at ip in the innermost function of c; if ip is 0, it begins where that
// function returns to.
//
// Kernel: __kprobe_trace_func, kernel/trace/trace_kprobe.c, and the same of the others.
func (p *traceProbe) record(c *machine.CPU, h event.Common, hit probe.Hit, src probe.Source, ip uint64) {
	p.write(c, h, hit, src, Around{Hit: true, IP: ip})
}

// write records a hit; around says where its stack begins.
func (p *traceProbe) write(c *machine.CPU, h event.Common, hit probe.Hit, src probe.Source, around Around) {
	d, t := p.d, p.event.typ
	h.Type = uint16(t.ID)
	d.scratch = p.def.Append(d.scratch[:0], h, hit, src)
	d.host.Emit(c, t, h, d.scratch, around)
}
