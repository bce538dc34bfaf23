package tracer

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
	"ftracelab/workload/machine"
)

// irqsoff measures for how long interrupts, preemption or either are switched
// off. One instance at a time may do so.
//
// Kernel: kernel/trace/trace_irqsoff.c.
type irqsoff struct {
	ft             *Ftrace
	of             *Instance // nil: nobody
	irqs, preempts bool      // what is measured
	measuring      []bool    // by CPU: in a section
	sequence       uint64    // maxima so far
}

// irqsoffTracers are the rows of irqsoff, preemptoff and preemptirqsoff.
func irqsoffTracers(ft *Ftrace) (irqs, preempt, both plugin.Tracer) {
	s := &irqsoff{ft: ft}
	row := func(name string, irqs, preempts bool) plugin.Tracer {
		return plugin.Tracer{
			Name: name, Instances: true, MaxBuffer: true, Latency: true, KeepsOverwrite: true,
			Init:    initWith(func(tr *Instance) error { return s.init(tr, irqs, preempts) }),
			Reset:   with(s.reset),
			Changed: func(t plugin.Trace, o option.Option) { s.changed(instanceOf(t), o) },
		}
	}
	irqs, preempt, both = row("irqsoff", true, false), row("preemptoff", false, true), row("preemptirqsoff", true, true)
	irqs.Hook = func(h *machine.Hooks) { // for all three
		if s.of != nil {
			h.Critical, h.Idle = s.critical, s.idle
		}
	}
	return irqs, preempt, both
}

// Kernel: __irqsoff_tracer_init.
func (s *irqsoff) init(tr *Instance, irqs, preempts bool) error {
	if s.of != nil {
		return fmt.Errorf("current_tracer: instance %q measures already: %w", s.of.name, syscall.EBUSY)
	}
	if err := tr.latencyInit(option.PauseOnTrace); err != nil {
		return err
	}
	*s = irqsoff{ft: s.ft, of: tr, irqs: irqs, preempts: preempts, measuring: make([]bool, tr.buf.CPUs())}
	return tr.latencyFunctions(true, irqsoffHandler, s.inSection)
}

// Kernel: __irqsoff_tracer_reset.
func (s *irqsoff) reset(tr *Instance) {
	_ = tr.latencyFunctions(false, "", nil) // stopping cannot fail
	*s = irqsoff{ft: s.ft}
	tr.latencyReset(option.PauseOnTrace)
}

// changed is a change of function-trace or display-graph; the latter begins anew.
//
// Kernel: irqsoff_flag_changed.
func (s *irqsoff) changed(tr *Instance, o option.Option) {
	if o != option.FunctionTrace && o != option.DisplayGraph {
		return
	}
	if o == option.DisplayGraph {
		clear(s.measuring)
		tr.latency.max = 0
		tr.resetBuffer()
	}
	_ = tr.latencyFunctions(true, irqsoffHandler, s.inSection) // without room for it there is no graph, as in the kernel
}

// irqsoffHandler is the function that records the functions called in a section.
const irqsoffHandler = "irqsoff_tracer_call"

// Kernel: func_prolog_dec.
func (s *irqsoff) inSection(c *machine.CPU) bool {
	return s.measuring[c.ID] && (c.IRQsOff || c.Unpreemptible())
}

// irqs off, preemption off: what is measured now.
func (s *irqsoff) irqsNow(c *machine.CPU) bool    { return s.irqs && c.IRQsOff }
func (s *irqsoff) preemptNow(c *machine.CPU) bool { return s.preempts && c.Unpreemptible() }

// critical runs when interrupts or preemption are switched off or on. Only one
// of them begins and ends a section: that which is switched off alone.
//
// Kernel: tracer_hardirqs_off, tracer_hardirqs_on, tracer_preempt_off and
// tracer_preempt_on.
func (s *irqsoff) critical(c *machine.CPU, p *machine.PreemptIRQ) {
	ft := s.ft
	if s.of == nil {
		return
	}
	switch irqs, preempt := s.irqsNow(c), s.preemptNow(c); p.ID {
	case machine.EvIRQDisable:
		if irqs && !preempt {
			s.begin(c, p.IP, p.Parent)
		}
	case machine.EvIRQEnable:
		if irqs && !preempt {
			s.end(c, p.IP, p.Parent, ft.inside("tracer_hardirqs_on"))
		}
	case machine.EvPreemptDisable:
		if preempt && !irqs {
			s.begin(c, p.IP, p.Parent)
		}
	case machine.EvPreemptEnable:
		if preempt && !irqs {
			s.end(c, p.IP, p.Parent, ft.inside("tracer_preempt_on"))
		}
	}
}

// idle runs when the idle task begins or ends to wait.
//
// Kernel: stop_critical_timings and start_critical_timings.
func (s *irqsoff) idle(c *machine.CPU, halted bool, ip uint64) {
	ft := s.ft
	if s.of == nil || !s.irqsNow(c) && !s.preemptNow(c) {
		return
	}
	if halted {
		s.end(c, ip, 0, ft.inside("stop_critical_timings"))
	} else {
		s.begin(c, ip, 0)
	}
}

func (s *irqsoff) enabled() bool { return s.of.buf.Recording() && s.of.ft.top.buf.Recording() }

// begin is the start of a section at ip, called from parent.
//
// Kernel: start_critical_timing.
func (s *irqsoff) begin(c *machine.CPU, ip, parent uint64) {
	if !s.enabled() || s.measuring[c.ID] {
		return
	}
	tr := s.of
	tr.latency.sections[c.ID] = section{began: tr.now(c.ID), start: parent, sequence: s.sequence}
	if parent == 0 {
		tr.latency.sections[c.ID].start = ip
	}
	tr.mark(c, ip, parent)
	s.measuring[c.ID] = true
}

// end is the end of a section at ip, called from parent; by is where the tracer
// was called.
//
// Kernel: stop_critical_timing and check_critical_timing.
func (s *irqsoff) end(c *machine.CPU, ip, parent, by uint64) {
	if !s.measuring[c.ID] {
		return
	}
	s.measuring[c.ID] = false
	tr := s.of
	at := &tr.latency.sections[c.ID]
	if !s.enabled() || at.start == 0 {
		return
	}
	tr.mark(c, ip, parent)
	at.end = parent
	if parent == 0 {
		at.end = ip
	}
	if delta := tr.now(c.ID) - at.began; tr.reports(delta) {
		tr.mark(c, by, at.end)
		tr.stackHere(c, 1)
		if at.sequence == s.sequence {
			tr.keepLongest(c.ID, delta, c.Current, c.ID)
			s.sequence++
		}
	}
	tr.mark(c, by, at.end)
	at.start = 0
}

// preemptIRQPoints are the events of the preemptirq system. Places are offsets from the
// beginning of the kernel's text.
func (ft *Ftrace) preemptIRQPoints(points *[machine.NumTracepoints]pointProbe) {
	text, _ := ft.machine.Kallsyms().ByName("_stext")
	for id, d := range map[machine.Event]*event.Def[events.PreemptIRQRecord]{
		machine.EvPreemptDisable: events.PreemptDisable, machine.EvPreemptEnable: events.PreemptEnable,
		machine.EvIRQDisable: events.IRQDisable, machine.EvIRQEnable: events.IRQEnable,
	} {
		points[id] = point(ft, d, func(r *events.PreemptIRQRecord, a *machine.PreemptIRQ) {
			*r = events.PreemptIRQRecord{CallerOffs: int32(a.IP - text.Addr), ParentOffs: int32(a.Parent - text.Addr)}
		})
	}
}
