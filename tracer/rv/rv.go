// Package rv is runtime verification. A monitor has a model that says what may happen
// to a task. It follows each task in the model, and reports events that the model does
// not allow. The only monitor is wwnr:
//
//	not_running ── switch_in ──▶ running
//	  ▲   wakeup: stays           │
//	  └─────────── switch_out ────┘
//
// So the model does not allow a running task to be woken. It is meant for tests.
//
// Departure: tasks of the simulated machine are woken only when they sleep. A kernel
// also wakes tasks that are about to sleep. So there is never an error_wwnr here.
//
// Kernel: kernel/trace/rv, include/rv/da_monitor.h.
package rv

import (
	"ftracelab/machine"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/plugin"
)

// RV holds the monitors of a kernel; the only one is wwnr.
type RV struct {
	ft      plugin.Ftrace
	scratch []byte
	tasks   map[*machine.Task]state // the tasks that are followed
	// The records that are written; they are kept here so that nothing is allocated.
	fault      events.ErrorWwnrRecord
	step       events.EventWwnrRecord
	off, quiet bool // rv/monitoring_on and rv/reacting_on are 0
	enabled    bool // wwnr is enabled
}

// New makes the runtime verification of a kernel that has just booted.
func New(ft plugin.Ftrace) *RV { return &RV{ft: ft, tasks: map[*machine.Task]state{}} }

// state is the state of a task in the model.
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

// next gives the state to which an event leads; false if the model does not allow the
// event.
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

// reset forgets all tasks. Each is followed again from its next sleep on.
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

// Points gives the tracepoints that the enabled monitors need.
func (r *RV) Points() []string {
	if !r.enabled {
		return nil
	}
	return []string{"sched:sched_switch", "sched:sched_wakeup"}
}

// Trace runs after a tracepoint and its event.
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

// Forget forgets a task that has ended.
func (r *RV) Forget(t *machine.Task) { delete(r.tasks, t) }

// happens applies an event to the model of a task. If the model has no such transition,
// it emits error_wwnr and stops following the task. The only reactor does nothing.
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
