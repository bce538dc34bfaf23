package latency

import (
	"fmt"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
)

// irqsoff measures for how long interrupts, preemption or either are switched
// off. One instance at a time may do so.
//
// Kernel: kernel/trace/trace_irqsoff.c.
type irqsoff struct {
	measurement
	irqs, preempts bool   // what is measured
	measuring      []bool // by CPU: in a section
	sequence       uint64 // maxima so far
}

// IRQsOff gives the tracers irqsoff, preemptoff and preemptirqsoff. Their instances
// are a [Trace].
func IRQsOff(ft plugin.Ftrace) (irqs, preempt, both plugin.Tracer) {
	s := &irqsoff{measurement: measurement{ft: ft}}
	row := func(name string, irqs, preempts bool) plugin.Tracer {
		return plugin.Tracer{
			Name: name, Instances: true, MaxBuffer: true, Latency: true, KeepsOverwrite: true,
			Init:    func(t plugin.Trace) error { return s.init(t.(Trace), irqs, preempts) },
			Reset:   func(plugin.Trace) { s.reset() },
			Changed: func(_ plugin.Trace, o option.Option) { s.changed(o) },
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
func (s *irqsoff) init(t Trace, irqs, preempts bool) error {
	if s.of != nil {
		return fmt.Errorf("current_tracer: instance %q measures already: %w", s.of.Name(), syscall.EBUSY)
	}
	if err := s.begin(t, option.PauseOnTrace); err != nil {
		return err
	}
	s.irqs, s.preempts, s.measuring, s.sequence = irqs, preempts, make([]bool, len(s.sections)), 0
	return s.traceFunctions(irqsoffHandler, s.inSection)
}

// Kernel: __irqsoff_tracer_reset.
func (s *irqsoff) reset() {
	_ = s.of.TraceFunctions("", false, nil) // stopping cannot fail
	s.end(option.PauseOnTrace)
}

// changed is a change of function-trace or display-graph; the latter begins anew.
//
// Kernel: irqsoff_flag_changed.
func (s *irqsoff) changed(o option.Option) {
	if o != option.FunctionTrace && o != option.DisplayGraph {
		return
	}
	if o == option.DisplayGraph {
		clear(s.measuring)
		*s.of.MaxLatency() = 0
		s.of.ResetBuffer()
	}
	_ = s.traceFunctions(irqsoffHandler, s.inSection)
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
	if s.of == nil {
		return
	}
	switch irqs, preempt := s.irqsNow(c), s.preemptNow(c); p.ID {
	case machine.EvIRQDisable:
		if irqs && !preempt {
			s.start(c, p.IP, p.Parent)
		}
	case machine.EvIRQEnable:
		if irqs && !preempt {
			s.stop(c, p.IP, p.Parent, s.ft.Inside("tracer_hardirqs_on"))
		}
	case machine.EvPreemptDisable:
		if preempt && !irqs {
			s.start(c, p.IP, p.Parent)
		}
	case machine.EvPreemptEnable:
		if preempt && !irqs {
			s.stop(c, p.IP, p.Parent, s.ft.Inside("tracer_preempt_on"))
		}
	}
}

// idle runs when the idle task begins or ends to wait.
//
// Kernel: stop_critical_timings and start_critical_timings.
func (s *irqsoff) idle(c *machine.CPU, halted bool, ip uint64) {
	if s.of == nil || !s.irqsNow(c) && !s.preemptNow(c) {
		return
	}
	if halted {
		s.stop(c, ip, 0, s.ft.Inside("stop_critical_timings"))
	} else {
		s.start(c, ip, 0)
	}
}

func (s *irqsoff) enabled() bool { return s.of.Recording() && s.ft.Recording() }

// start is the start of a section at ip, called from parent.
//
// Kernel: start_critical_timing.
func (s *irqsoff) start(c *machine.CPU, ip, parent uint64) {
	if !s.enabled() || s.measuring[c.ID] {
		return
	}
	s.sections[c.ID] = section{began: s.of.Now(c.ID), start: parent, sequence: s.sequence}
	if parent == 0 {
		s.sections[c.ID].start = ip
	}
	s.mark(c, ip, parent)
	s.measuring[c.ID] = true
}

// stop is the end of a section at ip, called from parent; by is where the tracer
// was called.
//
// Kernel: stop_critical_timing and check_critical_timing.
func (s *irqsoff) stop(c *machine.CPU, ip, parent, by uint64) {
	if !s.measuring[c.ID] {
		return
	}
	s.measuring[c.ID] = false
	at := &s.sections[c.ID]
	if !s.enabled() || at.start == 0 {
		return
	}
	s.mark(c, ip, parent)
	at.end = parent
	if parent == 0 {
		at.end = ip
	}
	if delta := s.of.Now(c.ID) - at.began; s.reports(delta) {
		s.mark(c, by, at.end)
		s.stackHere(c, 1)
		if at.sequence == s.sequence {
			s.keepLongest(c.ID, delta, c.Current, c.ID)
			s.sequence++
		}
	}
	s.mark(c, by, at.end)
	at.start = 0
}
