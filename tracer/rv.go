package tracer

import (
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// rv is runtime verification: a monitor follows what happens to each task in a model
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
type rv struct {
	// The records that are written, so that none is allocated.
	fault      events.ErrorWwnrRecord
	step       events.EventWwnrRecord
	off, quiet bool // rv/monitoring_on and rv/reacting_on are 0
	enabled    bool // wwnr
	resets     uint64
}

// rvTask is a task's model, if it has been followed since so many resets.
type rvTask struct {
	state rvState
	since uint64
}

type rvState uint8

const (
	rvNotRunning rvState = iota
	rvRunning
)

type rvEvent uint8

const (
	rvSwitchIn rvEvent = iota
	rvSwitchOut
	rvWakeup
)

var (
	rvStates = [...]string{"not_running", "running"}
	rvEvents = [...]string{"switch_in", "switch_out", "wakeup"}
)

// next is where an event leads; false if the model does not allow it.
//
// Kernel: automaton_wwnr, kernel/trace/rv/monitors/wwnr/wwnr.h.
func (s rvState) next(e rvEvent) (rvState, bool) {
	switch {
	case s == rvNotRunning && e == rvSwitchIn:
		return rvRunning, true
	case s == rvNotRunning && e == rvWakeup, s == rvRunning && e == rvSwitchOut:
		return rvNotRunning, true
	}
	return s, false
}

// reset forgets all tasks: each is followed from its next sleep on.
//
// Kernel: da_monitor_reset_all_wwnr.
func (r *rv) reset() { r.resets++ }

// enableMonitor switches wwnr on or off.
//
// Kernel: rv_enable_monitor and rv_disable_monitor.
func (ft *Ftrace) enableMonitor(on bool) {
	if ft.rv.enabled == on {
		return
	}
	ft.rv.enabled = on
	ft.rv.reset()
	ft.hooksChanged()
}

// rvTrace is what wwnr makes of a tracepoint.
//
// Kernel: handle_switch and handle_wakeup, kernel/trace/rv/monitors/wwnr/wwnr.c.
func (ft *Ftrace) rvTrace(c *machine.CPU, tp machine.Tracepoint) {
	r := &ft.rv
	switch tp := tp.(type) {
	case *machine.SchedSwitch:
		if m := &ft.data(tp.Prev).rv; m.since != r.resets && tp.PrevState == machine.StateInterruptible {
			*m = rvTask{since: r.resets}
		} else {
			ft.rvEvent(c, tp.Prev, rvSwitchOut)
		}
		ft.rvEvent(c, tp.Next, rvSwitchIn)
	case *machine.SchedWakeup:
		if tp.ID == machine.EvSchedWakeup {
			ft.rvEvent(c, tp.Task, rvWakeup)
		}
	}
}

// rvEvent is an event of a task's model. One that it does not allow ends that it is
// followed; the one reactor there is does nothing.
//
// Kernel: da_handle_event_wwnr and da_event_wwnr.
func (ft *Ftrace) rvEvent(c *machine.CPU, t *machine.Task, e rvEvent) {
	m := &ft.data(t).rv
	if m.since != ft.rv.resets {
		return
	}
	state := m.state
	next, ok := state.next(e)
	if !ok {
		ft.rv.fault = events.ErrorWwnrRecord{ID: int32(t.PID), State: rvStates[state], Event: rvEvents[e]}
		emit(ft, c, events.ErrorWwnr, &ft.rv.fault)
		m.since = 0
		return
	}
	m.state = next
	ft.rv.step = events.EventWwnrRecord{
		ID: int32(t.PID), State: rvStates[state], Event: rvEvents[e], NextState: rvStates[next], FinalState: next == rvNotRunning,
	}
	emit(ft, c, events.EventWwnr, &ft.rv.step)
}
