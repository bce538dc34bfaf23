package tracer

import (
	"fmt"
	"math"
	"syscall"

	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
	"ftracelab/tracer/record"
	"ftracelab/workload/machine"
)

// wakeup measures how long a task that has been woken waits for its CPU. It
// follows one task at a time: that of the highest priority. One instance at a
// time may do so.
//
// Kernel: kernel/trace/trace_sched_wakeup.c.
type wakeup struct {
	of       *Instance     // nil: nobody
	rt, dl   bool          // only tasks of these scheduling classes
	task     *machine.Task // the task followed, or nil
	cpu      int           // where it was woken for
	current  int           // where it will run
	prio     int           // its priority; more than any for none
	deadline bool          // it is a deadline task: no other may take its place
}

// wakeupTracers are the rows of wakeup, wakeup_rt and wakeup_dl.
func wakeupTracers() (any, rt, dl plugin.Tracer) {
	s := new(wakeup)
	row := func(name string, rt, dl bool) plugin.Tracer {
		return plugin.Tracer{
			Name: name, Instances: true, MaxBuffer: true, Latency: true, KeepsOverwrite: true,
			Trace:  func(_ plugin.Trace, c *machine.CPU, tp machine.Tracepoint) { s.trace(c, tp) },
			Points: []string{"sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_switch", "sched:sched_migrate_task"},
			Init:   initWith(func(tr *Instance) error { return s.init(tr, rt, dl) }),
			Reset: with(func(tr *Instance) {
				_ = tr.latencyFunctions(false, "", nil) // stopping cannot fail
				*s = wakeup{}
				tr.resetBuffer()
				tr.latencyReset()
			}),
			Start: with(func(tr *Instance) {
				tr.resetBuffer()
				s.forget()
			}),
			Changed: func(t plugin.Trace, o option.Option) { s.changed(instanceOf(t), o) },
		}
	}
	return row("wakeup", false, false), row("wakeup_rt", true, false), row("wakeup_dl", false, true)
}

// Kernel: __wakeup_tracer_init.
func (s *wakeup) init(tr *Instance, rt, dl bool) error {
	if s.of != nil {
		return fmt.Errorf("current_tracer: instance %q measures already: %w", s.of.name, syscall.EBUSY)
	}
	if err := tr.latencyInit(); err != nil {
		return err
	}
	*s = wakeup{of: tr, rt: rt, dl: dl}
	s.forget()
	return tr.latencyFunctions(true, wakeupHandler, s.follows)
}

// Kernel: wakeup_flag_changed.
func (s *wakeup) changed(tr *Instance, o option.Option) {
	if o != option.FunctionTrace && o != option.DisplayGraph {
		return
	}
	if o == option.DisplayGraph {
		tr.resetBuffer()
		s.forget()
		tr.latency.max = 0
	}
	_ = tr.latencyFunctions(true, wakeupHandler, s.follows) // without room for it there is no graph, as in the kernel
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
	tr := s.of
	if !tr.buf.Recording() {
		return
	}
	tr.ft.cmdlines.Remember(t)
	tr.ft.cmdlines.Remember(c.Current)
	dl := t.DeadlineTask()
	switch {
	case s.deadline, s.dl && !dl, s.rt && !dl && !t.RealTime():
		return
	case !dl && (t.Prio >= s.prio || t.Prio >= c.Current.Prio):
		return
	}
	*s = wakeup{of: tr, rt: s.rt, dl: s.dl, task: t, cpu: cpu, current: cpu, prio: t.Prio, deadline: dl}
	tr.latency.sections[cpu] = section{began: tr.now(c.ID)}
	rec := switchRecord(c.Current, t, cpu)
	_ = record.Write(tr.rec, c.ID, contextOf(c), events.Wakeup, common(c), &rec) // the buffer counts what it refuses
	tr.stackHere(c, 0, tr.ft.inside("__ftrace_trace_stack"), tr.ft.inside("probe_wakeup"))
	tr.mark(c, 0, 0) // the callers' addresses, which a kernel without frame pointers does not know
}

// switched ends the wait of the task followed.
//
// Kernel: probe_wakeup_sched_switch.
func (s *wakeup) switched(c *machine.CPU, tp *machine.SchedSwitch) {
	tr := s.of
	tr.ft.cmdlines.Remember(tp.Prev)
	if !tr.buf.Recording() || tp.Next != s.task || s.task == nil {
		return
	}
	tr.mark(c, tr.ft.inside("__schedule"), 0)
	rec := switchRecord(tp.Prev, tp.Next, c.ID)
	_ = record.Write(tr.rec, c.ID, contextOf(c), events.ContextSwitch, common(c), &rec) // the buffer counts what it refuses
	tr.stackHere(c, 0, tr.ft.inside("__ftrace_trace_stack"), tr.ft.inside("probe_wakeup_sched_switch"))
	if delta := tr.now(c.ID) - tr.latency.sections[s.cpu].began; tr.reports(delta) {
		tr.keepLongest(-1, delta, s.task, s.cpu)
	}
	s.forget()
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
