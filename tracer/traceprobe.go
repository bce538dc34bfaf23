package tracer

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
	"ftracelab/workload/machine"
)

// traceProbe is one definition of a probe event: a line of dynamic_events.
//
// Kernel: struct trace_probe, kernel/trace/trace_probe.h.
type traceProbe struct {
	ft    *Ftrace
	def   *probe.Definition
	event *probeEvent
	on    attachment
}

// attachment is what a probe has in the kernel.
type attachment interface {
	// register puts it there. Errors: an errno, or what of the definition is wrong.
	register() error
	unregister()
	// enable lets it record. It runs only while it is registered or waits for a module.
	enable(on bool) error
}

// probeEvent is an event with its probes: each of them records it.
//
// Kernel: struct trace_probe_event, kernel/trace/trace_probe.h.
type probeEvent struct {
	typ    *event.Type
	probes []*traceProbe
}

// probeEventOf is the event of that name that has probes of the kind; nil if there is
// none.
//
// Kernel: find_trace_kprobe, kernel/trace/trace_kprobe.c.
func (ft *Ftrace) probeEventOf(kind probe.Kind, group, name string) *probeEvent {
	for _, e := range ft.dynEvents {
		if p, ok := e.(*traceProbe); ok && sameKind(p.def.Kind, kind) && p.def.Group == group && p.def.Event == name {
			return p.event
		}
	}
	return nil
}

// sameKind reports whether probes can be of one event: those of tracepoints and of
// functions' entries and exits are one kind.
func sameKind(a, b probe.Kind) bool {
	one := func(k probe.Kind) probe.Kind {
		if k == probe.Tracepoint {
			return probe.Fprobe
		}
		return k
	}
	return one(a) == one(b)
}

// registerProbe adds a probe: to the event that it names, or with a new one. Errors: a
// [*probe.Error], which is in error_log then.
//
// Kernel: register_trace_kprobe and append_trace_kprobe, kernel/trace/trace_kprobe.c;
// the same of uprobes and fprobes.
func (ft *Ftrace) registerProbe(p *traceProbe) error {
	p.event = ft.probeEventOf(p.def.Kind, p.def.Group, p.def.Event)
	if p.event != nil {
		return ft.probeFault(ft.appendProbe(p))
	}
	if ft.types.ByName(p.def.Group, p.def.Event) != nil {
		return ft.probeFault(p.def.Exists())
	}
	id, err := ft.types.FreeID()
	if err != nil {
		return ft.probeFault(p.def.Failed(syscall.ENODEV))
	}
	typ, err := p.def.NewType(id)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", p.def.Show(), err, syscall.EINVAL)
	}
	p.event = &probeEvent{typ: typ, probes: []*traceProbe{p}}
	if err := ft.addEvent(typ); err != nil {
		return err
	}
	ft.onSwitch(typ, p.event.switched)
	if err := p.register(); err != nil {
		_ = ft.removeEvent(typ) // nobody has it yet
		return ft.probeFault(err)
	}
	ft.addDynEvent(p)
	return nil
}

func (ft *Ftrace) appendProbe(p *traceProbe) error {
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
	ft.addDynEvent(p)
	ft.hooksChanged()
	return nil
}

// register makes a fault of the definition of what registering says.
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
func (e *probeEvent) enabled(ft *Ftrace) bool { return ft.enabledSomewhere(e.typ) }

func (e *probeEvent) drop(p *traceProbe) {
	e.probes = slices.DeleteFunc(e.probes, func(have *traceProbe) bool { return have == p })
}

// switched follows the event's being turned on and off: with the first instance all
// probes are enabled, or none; with the last they are disabled.
//
// Kernel: enable_trace_kprobe and disable_trace_kprobe, kernel/trace/trace_kprobe.c.
func (e *probeEvent) switched(tr *Instance, on bool) error {
	if e.enabled(tr.ft) {
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

// kind is the kind of the definition.
func (p *traceProbe) kind() *dynKind {
	switch p.def.Kind {
	case probe.Kprobe:
		return kprobeEvents
	case probe.Fprobe, probe.Tracepoint:
		return fprobeEvents
	case probe.Uprobe:
		return uprobeEvents
	}
	panic("tracer: invariant: a probe of no kind")
}

func (p *traceProbe) show() string { return p.def.Show() }

func (p *traceProbe) busy() bool { return p.event.enabled(p.ft) }

// free deletes the probe, and with the last one the event.
//
// Kernel: unregister_trace_kprobe, kernel/trace/trace_kprobe.c.
func (p *traceProbe) free() error {
	if len(p.event.probes) == 1 {
		if err := p.ft.removeEvent(p.event.typ); err != nil {
			return err
		}
	}
	p.on.unregister()
	p.event.drop(p)
	p.ft.dropDynEvent(p)
	if len(p.event.probes) > 0 {
		p.ft.hooksChanged()
	}
	return nil
}

func (p *traceProbe) match(system *string, event string, args []string) bool {
	if system == nil {
		return p.def.Match("", event, args)
	}
	return *system != "" && p.def.Match(*system, event, args)
}

// record records a hit in every instance that has the event enabled. The stack of the
// event begins at ip in the innermost function of c, or for 0 where that returns to.
//
// Kernel: __kprobe_trace_func, kernel/trace/trace_kprobe.c, and the same of the others.
func (p *traceProbe) record(c *machine.CPU, h event.Common, hit probe.Hit, src probe.Source, ip uint64) {
	p.ft.atRegs, p.ft.regsIP = true, ip
	p.write(c, h, hit, src)
	p.ft.atRegs = false
}

// write records a hit whose stack is that of c.
func (p *traceProbe) write(c *machine.CPU, h event.Common, hit probe.Hit, src probe.Source) {
	ft, t := p.ft, p.event.typ
	h.Type = uint16(t.ID)
	ft.scratch = p.def.Append(ft.scratch[:0], h, hit, src)
	ft.emitBytes(c, t, h, ft.scratch)
}
