package sampler

import (
	"ftracelab/machine"
	"ftracelab/tracer/event/events"
)

// timerlatPriority is the real-time priority of timerlat's threads.
const timerlatPriority = 95

// timerlatCPU is the tracer timerlat on one CPU: a timer that wakes a thread every
// period, and how late both of them are.
type timerlatCPU struct {
	due     machine.Time // when the timer should fire
	count   uint32
	tracing bool     // the interrupt has come, but the thread has not run yet
	stack   []uint64 // the stack of the interrupt, for osnoise/print_stack
}

// The contexts of a timerlat record.
const (
	timerlatIRQ        = 0
	timerlatThread     = 1
	timerlatUserReturn = 2
)

// timerlatNext gives the next round of the timerlat thread of c: the thread reports how
// late it is and sleeps until the next period. Periods that have passed already are
// left out.
//
// Kernel: timerlat_main and wait_next_period.
func (s *osnoise) timerlatNext(c *machine.CPU) machine.Stay {
	v := &s.vars[c.ID]
	first := v.timer.due == 0
	if first {
		v.timer.due = c.Time
	}
	woken, due := v.timer.due, v.timer.due
	for due <= c.Time {
		due += s.timerPeriod * machine.Microsecond
	}
	code := s.threadCode("timerlat", func(a *machine.Assembler) {
		kthread(a, "timerlat_main").State(0, 0, 1).Probe().Call("schedule").State(machine.FlagIRQsOff, 1, 1).Hide("__schedule")
		a.Switch(machine.StateInterruptible).State(0, 0, 1).Return(6)
	})
	return machine.Stay{
		Kind: machine.KernelWork, Code: code, Wait: machine.Wait{At: due, By: machine.Sleep},
		Probe: func(c *machine.CPU) {
			v.sampling, v.timer.due = true, due
			if !first {
				s.timerlatThread(c, v, c.Time-woken)
			}
		},
	}
}

// timerlatThread reports how late the thread is.
func (s *osnoise) timerlatThread(c *machine.CPU, v *osnoiseCPU, late machine.Time) {
	s.timerlatSample(c, v.timer.count, timerlatThread, late)
	s.longest(late)
	if us := late / 1000; s.printStack > 0 && us >= s.printStack {
		s.dumpStack(c, v.timer.stack)
	}
	v.timer.tracing = false
	if s.stopTotal > 0 && late/1000 >= s.stopTotal {
		s.stopTracing(c, "timerlat_main")
	}
}

// waitsForTimer gives the task that the timer will wake; nil if there is none.
func (v *osnoiseCPU) waitsForTimer() *machine.Task {
	switch {
	case v.user != nil && v.user.waits:
		return v.user.task
	case v.thread != nil && !v.thread.stop && v.timer.due != 0:
		return v.thread.task
	}
	return nil
}

// timerlatIRQ runs when t is woken. If t is a thread of timerlat, its timer has woken
// it.
//
// Kernel: timerlat_irq.
func (s *osnoise) timerlatIRQ(c *machine.CPU, t *machine.Task) {
	v := &s.vars[t.CPU().ID]
	if v.waitsForTimer() != t {
		return
	}
	v.timer.tracing = true
	irq, soft, thread := &v.noises[noiseIRQ], &v.noises[noiseSoftIRQ], &v.noises[noiseThread]
	thread.arrived, thread.since = c.Time, irq.since
	if soft.since != 0 {
		thread.since, soft.since = soft.since, irq.since
	}
	late := c.Time - v.timer.due
	v.timer.count++
	s.timerlatSample(c, v.timer.count, timerlatIRQ, late)
	if s.printStack > 0 {
		v.timer.stack = c.AppendKernelStack(append(v.timer.stack[:0], s.ft.Inside("timerlat_irq")))
	}
	if us := late / 1000; s.stopIn > 0 && us >= s.stopIn {
		if s.stopIn <= s.printStack && us >= s.printStack {
			s.dumpStack(c, v.timer.stack)
		}
		s.stopTracing(c, "timerlat_irq")
		s.longest(late)
	}
}

// Kernel: trace_timerlat_sample.
func (s *osnoise) timerlatSample(c *machine.CPU, count uint32, context int32, late machine.Time) {
	rec := events.TimerlatRecord{Seqnum: count, Context: context, TimerLatency: late}
	for _, tr := range s.instances {
		s.scratch = events.Timerlat.Append(s.scratch[:0], s.ft.Common(c), &rec)
		_ = tr.Write(c, s.scratch) // the buffer counts what it refuses
		s.ft.Remember(c.Current)
	}
}

// Kernel: timerlat_dump_stack.
func (s *osnoise) dumpStack(c *machine.CPU, ips []uint64) {
	for _, tr := range s.instances {
		tr.RecordStack(c, ips)
	}
}
