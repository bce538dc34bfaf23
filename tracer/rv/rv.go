// Package rv is runtime verification: a monitor follows what happens to each task in a model
// that says what may happen, and tells where that is left. The one monitor is wwnr:
//
//	not_running ── switch_in ──▶ running
//	  ▲   wakeup: stays           │
//	  └─────────── switch_out ────┘
//
// so that a task that is woken while it runs is an error of the model, which is there
// for tests.
//
// Departure: tasks of the simulated machine are woken only when they sleep, where a
// kernel also wakes those that are about to; so there is no error_wwnr.
//
// Kernel: kernel/trace/rv, include/rv/da_monitor.h.
package rv

import (
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/plugin"
	"ftracelab/workload/machine"
)

// RV is the monitors of a kernel, of which there is wwnr.
type RV struct {
	ft      plugin.Ftrace
	scratch []byte
	tasks   map[*machine.Task]state // those that are followed
	// The records that are written, so that none is allocated.
	fault      events.ErrorWwnrRecord
	step       events.EventWwnrRecord
	off, quiet bool // rv/monitoring_on and rv/reacting_on are 0
	enabled    bool // wwnr
}

// New is the runtime verification of a kernel that has just booted.
func New(ft plugin.Ftrace) *RV { return &RV{ft: ft, tasks: map[*machine.Task]state{}} }

// state is where a task is in the model.
type state uint8

const (
	notRunning state = iota
	running
)

type happening uint8

const (
	switchIn happening = iota
	switchOut
	wakeup
)

var (
	stateNames = [...]string{"not_running", "running"}
	eventNames = [...]string{"switch_in", "switch_out", "wakeup"}
)

// next is where an event leads; false if the model does not allow it.
//
// Kernel: automaton_wwnr, kernel/trace/rv/monitors/wwnr/wwnr.h.
func (s state) next(e happening) (state, bool) {
	switch {
	case s == notRunning && e == switchIn:
		return running, true
	case s == notRunning && e == wakeup, s == running && e == switchOut:
		return notRunning, true
	}
	return s, false
}

// reset forgets all tasks: each is followed from its next sleep on.
//
// Kernel: da_monitor_reset_all_wwnr.
func (r *RV) reset() { clear(r.tasks) }

// enable switches wwnr on or off.
//
// Kernel: rv_enable_monitor and rv_disable_monitor.
func (r *RV) enable(on bool) {
	if r.enabled == on {
		return
	}
	r.enabled = on
	r.reset()
	r.ft.Rehook()
}

// Points are the tracepoints that the enabled monitors look at.
func (r *RV) Points() []string {
	if !r.enabled {
		return nil
	}
	return []string{"sched:sched_switch", "sched:sched_wakeup"}
}

// Trace runs behind a tracepoint and its event.
//
// Kernel: handle_switch and handle_wakeup, kernel/trace/rv/monitors/wwnr/wwnr.c.
func (r *RV) Trace(c *machine.CPU, tp machine.Tracepoint) {
	if !r.enabled || r.off {
		return
	}
	switch tp := tp.(type) {
	case *machine.SchedSwitch:
		if _, followed := r.tasks[tp.Prev]; !followed && tp.PrevState == machine.StateInterruptible {
			r.tasks[tp.Prev] = notRunning
		} else {
			r.happens(c, tp.Prev, switchOut)
		}
		r.happens(c, tp.Next, switchIn)
	case *machine.SchedWakeup:
		if tp.ID == machine.EvSchedWakeup {
			r.happens(c, tp.Task, wakeup)
		}
	}
}

// Forget is the end of a task.
func (r *RV) Forget(t *machine.Task) { delete(r.tasks, t) }

// happens is an event of a task's model. If the model has no such transition, it emits
// error_wwnr and stops following the task; the one reactor there is does nothing.
//
// Kernel: da_handle_event_wwnr and da_event_wwnr.
func (r *RV) happens(c *machine.CPU, t *machine.Task, e happening) {
	at, followed := r.tasks[t]
	if !followed {
		return
	}
	next, ok := at.next(e)
	if !ok {
		r.fault = events.ErrorWwnrRecord{ID: int32(t.PID), State: stateNames[at], Event: eventNames[e]}
		plugin.Emit(r.ft, c, &r.scratch, events.ErrorWwnr, &r.fault)
		delete(r.tasks, t)
		return
	}
	r.tasks[t] = next
	r.step = events.EventWwnrRecord{
		ID: int32(t.PID), State: stateNames[at], Event: eventNames[e], NextState: stateNames[next], FinalState: next == notRunning,
	}
	plugin.Emit(r.ft, c, &r.scratch, events.EventWwnr, &r.step)
}
