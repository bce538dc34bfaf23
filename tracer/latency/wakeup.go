package latency

import (
	"fmt"
	"math"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
)

// wakeup measures how long a task that has been woken waits for its CPU. It
// follows one task at a time: that of the highest priority. One instance at a
// time may do so.
//
// Kernel: kernel/trace/trace_sched_wakeup.c.
type wakeup struct {
	measurement
	rt, dl   bool          // only tasks of these scheduling classes
	task     *machine.Task // the task followed, or nil
	cpu      int           // where it was woken for
	current  int           // where it will run
	prio     int           // its priority; more than any for none
	deadline bool          // it is a deadline task: no other may take its place
}

// Wakeup gives the tracers wakeup, wakeup_rt and wakeup_dl. Their instances are a
// [Trace].
func Wakeup(ft plugin.Ftrace) (any, rt, dl plugin.Tracer) {
	s := &wakeup{measurement: measurement{ft: ft}}
	row := func(name string, rt, dl bool) plugin.Tracer {
		return plugin.Tracer{
			Name: name, Instances: true, MaxBuffer: true, Latency: true, KeepsOverwrite: true,
			Trace:   func(_ plugin.Trace, c *machine.CPU, tp machine.Tracepoint) { s.trace(c, tp) },
			Points:  []string{"sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_switch", "sched:sched_migrate_task"},
			Init:    func(t plugin.Trace) error { return s.init(t.(Trace), rt, dl) },
			Reset:   func(plugin.Trace) { s.reset() },
			Start:   func(plugin.Trace) { s.of.ResetBuffer(); s.forget() },
			Changed: func(_ plugin.Trace, o option.Option) { s.changed(o) },
		}
	}
	return row("wakeup", false, false), row("wakeup_rt", true, false), row("wakeup_dl", false, true)
}

// Kernel: __wakeup_tracer_init.
func (s *wakeup) init(t Trace, rt, dl bool) error {
	if s.of != nil {
		return fmt.Errorf("current_tracer: instance %q measures already: %w", s.of.Name(), syscall.EBUSY)
	}
	if err := s.begin(t); err != nil {
		return err
	}
	s.rt, s.dl = rt, dl
	s.forget()
	return s.traceFunctions(wakeupHandler, s.follows)
}

// Kernel: wakeup_tracer_reset.
func (s *wakeup) reset() {
	_ = s.of.TraceFunctions("", false, nil) // stopping cannot fail
	s.forget()
	s.of.ResetBuffer()
	s.end()
}

// Kernel: wakeup_flag_changed.
func (s *wakeup) changed(o option.Option) {
	if o != option.FunctionTrace && o != option.DisplayGraph {
		return
	}
	if o == option.DisplayGraph {
		s.of.ResetBuffer()
		s.forget()
		*s.of.MaxLatency() = 0
	}
	_ = s.traceFunctions(wakeupHandler, s.follows)
}

// wakeupHandler is the function that records the functions called on the CPU
// where a woken task waits.
const wakeupHandler = "wakeup_tracer_call"

// Kernel: func_prolog_preempt_disable.
func (s *wakeup) follows(c *machine.CPU) bool { return s.task != nil && s.current == c.ID }

// Kernel: __wakeup_reset.
func (s *wakeup) forget() { s.task, s.cpu, s.prio, s.deadline = nil, -1, math.MaxInt, false }

func (s *wakeup) trace(c *machine.CPU, tp machine.Tracepoint) {
	switch tp := tp.(type) {
	case *machine.SchedWakeup:
		if tp.ID != machine.EvSchedWaking {
			s.woken(c, tp.Task, tp.TargetCPU)
		}
	case *machine.SchedMigrate:
		if tp.Task == s.task {
			s.current = tp.DstCPU
		}
	case *machine.SchedSwitch:
		s.switched(c, tp)
	}
}

// woken begins to follow a task, if it is one to follow.
//
// Kernel: probe_wakeup.
func (s *wakeup) woken(c *machine.CPU, t *machine.Task, cpu int) {
	if !s.of.Recording() {
		return
	}
	s.ft.Remember(t)
	s.ft.Remember(c.Current)
	dl := t.DeadlineTask()
	switch {
	case s.deadline, s.dl && !dl, s.rt && !dl && !t.RealTime():
		return
	case !dl && (t.Prio >= s.prio || t.Prio >= c.Current.Prio):
		return
	}
	s.task, s.cpu, s.current, s.prio, s.deadline = t, cpu, cpu, t.Prio, dl
	s.sections[cpu] = section{began: s.of.Now(c.ID)}
	rec := switchRecord(c.Current, t, cpu)
	s.record(c, events.Wakeup, &rec)
	s.stackHere(c, 0, s.ft.Inside("__ftrace_trace_stack"), s.ft.Inside("probe_wakeup"))
	s.mark(c, 0, 0) // the callers' addresses, which a kernel without frame pointers does not know
}

// switched ends the wait of the task followed.
//
// Kernel: probe_wakeup_sched_switch.
func (s *wakeup) switched(c *machine.CPU, tp *machine.SchedSwitch) {
	s.ft.Remember(tp.Prev)
	if !s.of.Recording() || tp.Next != s.task || s.task == nil {
		return
	}
	s.mark(c, s.ft.Inside("__schedule"), 0)
	rec := switchRecord(tp.Prev, tp.Next, c.ID)
	s.record(c, events.ContextSwitch, &rec)
	s.stackHere(c, 0, s.ft.Inside("__ftrace_trace_stack"), s.ft.Inside("probe_wakeup_sched_switch"))
	if delta := s.of.Now(c.ID) - s.sections[s.cpu].began; s.reports(delta) {
		s.keepLongest(-1, delta, s.task, s.cpu)
	}
	s.forget()
}

// record writes a record; the buffer counts what it refuses.
func (s *wakeup) record(c *machine.CPU, d *event.Def[events.ContextSwitchRecord], rec *events.ContextSwitchRecord) {
	s.scratch = d.Append(s.scratch[:0], s.ft.Common(c), rec)
	_ = s.of.Write(c, s.scratch)
}

// Kernel: tracing_sched_wakeup_trace and tracing_sched_switch_trace.
func switchRecord(prev, next *machine.Task, cpu int) events.ContextSwitchRecord {
	return events.ContextSwitchRecord{
		PrevPID: uint32(prev.PID), PrevPrio: uint8(prev.Prio), PrevState: stateIndex(prev.State()),
		NextPID: uint32(next.PID), NextPrio: uint8(next.Prio), NextState: stateIndex(next.State()),
		NextCPU: uint32(cpu),
	}
}

// stateIndex is a task's state as a number: that of its lowest bit, running 0.
//
// Kernel: task_state_index, include/linux/sched.h.
func stateIndex(state int64) uint8 {
	n := uint8(0)
	for state &= 0xff; state != 0; state >>= 1 {
		n++
	}
	return n
}
