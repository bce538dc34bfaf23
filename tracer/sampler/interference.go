package sampler

import (
	"fmt"

	"ftracelab/machine"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/plugin"
)

// noise is one kind of interference: how often it came, and since when it has been
// going on. Time that a higher kind takes from it does not count as its own.
type noise struct {
	count          uint32
	arrived, since machine.Time // 0: none is going on
}

const (
	noiseNMI = iota
	noiseIRQ
	noiseSoftIRQ
	noiseThread
	numNoises
)

// trace accounts the interferences. It does so once for all instances.
//
// Kernel: trace_irqentry_callback, trace_softirq_entry_callback,
// trace_sched_switch_callback and their counterparts; trace_intel_irq_entry,
// arch/x86/kernel/trace.c.
func (s *osnoise) trace(tr plugin.Trace, c *machine.CPU, tp machine.Tracepoint) {
	if len(s.instances) == 0 || s.instances[0] != tr {
		return
	}
	v := &s.vars[c.ID]
	if tp, ok := tp.(*machine.SchedWakeup); ok && tp.ID == machine.EvSchedWaking && s.timerlat {
		s.timerlatIRQ(c, tp.Task)
		return
	}
	if !v.sampling {
		return
	}
	switch tp := tp.(type) {
	case *machine.Vector:
		name, entry := vectorName(tp.ID)
		if entry {
			v.enter(c, noiseIRQ)
		} else {
			s.leaveIRQ(c, v, int(tp.Vector), name)
		}
	case *machine.IRQHandlerEntry:
		v.enter(c, noiseIRQ)
	case *machine.IRQHandlerExit:
		s.leaveIRQ(c, v, tp.IRQ, irqName(c, tp.IRQ))
	case *machine.SoftIRQ:
		switch {
		case tp.ID == machine.EvSoftIRQEntry:
			v.enter(c, noiseSoftIRQ)
		case tp.ID == machine.EvSoftIRQExit && s.timerlat && !v.timer.tracing:
			v.noises[noiseSoftIRQ].since, v.noises[noiseSoftIRQ].arrived = 0, 0
		case tp.ID == machine.EvSoftIRQExit:
			rec := events.SoftirqNoiseRecord{Vector: int32(tp.Vec)}
			rec.Start, rec.Duration = v.leave(c, noiseSoftIRQ)
			plugin.Emit(s.ft, c, &s.scratch, events.SoftirqNoise, &rec)
		}
	case *machine.SchedSwitch:
		if tp.Prev.PID != v.pid || !s.has(osnoiseWorkload) {
			s.leaveThread(c, v, tp.Prev)
		}
		if tp.Next.PID != v.pid || !s.has(osnoiseWorkload) {
			v.enter(c, noiseThread)
		}
	}
}

// enter begins an interference.
func (v *osnoiseCPU) enter(c *machine.CPU, kind int) {
	n := &v.noises[kind]
	n.arrived, n.since = c.Time, c.Time
	n.count++
	v.ints++
}

// nmi accounts an NMI.
//
// Kernel: trace_osnoise_callback.
func (s *osnoise) nmi(c *machine.CPU, enter bool) {
	if len(s.instances) == 0 {
		return
	}
	v := &s.vars[c.ID]
	switch {
	case !v.sampling:
	case enter:
		v.enter(c, noiseNMI)
	case v.noises[noiseNMI].since != 0: // the NMI began during the sampling
		rec := events.NMINoiseRecord{}
		rec.Start, rec.Duration = v.leave(c, noiseNMI)
		plugin.Emit(s.ft, c, &s.scratch, events.NMINoise, &rec)
	}
}

// leave ends an interference. It returns when it came and how long it took, and takes
// that time off what it has interrupted.
//
// Kernel: get_int_safe_duration, cond_move_softirq_delta_start and
// cond_move_thread_delta_start.
func (v *osnoiseCPU) leave(c *machine.CPU, kind int) (start, duration machine.Time) {
	n := &v.noises[kind]
	start, duration = n.arrived, c.Time-n.since
	n.arrived, n.since = 0, 0
	for k := kind + 1; k < numNoises; k++ {
		if v.noises[k].since != 0 {
			v.noises[k].since += duration
		}
	}
	return start, duration
}

func (s *osnoise) leaveIRQ(c *machine.CPU, v *osnoiseCPU, vector int, name string) {
	if v.noises[noiseIRQ].since == 0 {
		return // it began before the sampling
	}
	rec := events.IRQNoiseRecord{Desc: name, Vector: int32(vector)}
	rec.Start, rec.Duration = v.leave(c, noiseIRQ)
	plugin.Emit(s.ft, c, &s.scratch, events.IRQNoise, &rec)
}

func (s *osnoise) leaveThread(c *machine.CPU, v *osnoiseCPU, t *machine.Task) {
	n := &v.noises[noiseThread]
	if s.timerlat && !v.timer.tracing || n.since == 0 {
		n.since, n.arrived = 0, 0
		return
	}
	rec := events.ThreadNoiseRecord{PID: int32(t.PID)}
	copy(rec.Comm[:len(rec.Comm)-1], t.Comm)
	rec.Start, rec.Duration = v.leave(c, noiseThread)
	plugin.Emit(s.ft, c, &s.scratch, events.ThreadNoise, &rec)
}

// vectorName gives the name that irq_noise has for an interrupt without a number, and
// whether the event is its beginning.
//
// Kernel: trace_intel_irq_entry and trace_intel_irq_exit's users, arch/x86/kernel/trace.c.
func vectorName(id machine.Event) (name string, entry bool) {
	switch id {
	case machine.EvRescheduleEntry, machine.EvRescheduleExit:
		return "reschedule", id == machine.EvRescheduleEntry
	case machine.EvCallFunctionSingleEntry, machine.EvCallFunctionSingleExit:
		return "call_function_single", id == machine.EvCallFunctionSingleEntry
	}
	return "local_timer", id == machine.EvLocalTimerEntry
}

func irqName(c *machine.CPU, irq int) string {
	if name := c.IRQName(); name != "" {
		return name
	}
	return fmt.Sprintf("irq/%d", irq)
}
