package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/pidlist"
)

// eventPIDs select the tasks whose events an instance records: set_event_pid and
// set_event_notrace_pid.
//
// Kernel: filtered_pids and filtered_no_pids of struct trace_array,
// kernel/trace/trace.h.
type eventPIDs struct {
	only, not pidlist.List
}

// ignore reports whether the events of a task are left out.
//
// Kernel: trace_ignore_this_task, kernel/trace/trace.c.
func (e *eventPIDs) ignore(t *machine.Task) bool {
	return e.only != nil && !e.only.Has(t.PID) || e.not.Has(t.PID)
}

// ignores reports whether an event is left out because of its task. A switch counts
// for both of its tasks; a wakeup also counts for the task that is woken.
//
// Kernel: trace_event_ignore_this_pid and the probes of register_pid_events,
// kernel/trace/trace_events.c.
func (tr *Instance) ignores(e *happening) bool {
	if tr.pids.only == nil && tr.pids.not == nil {
		return false
	}
	c, other := e.cpu, e.Task
	if other == nil {
		return tr.pids.ignore(c.Current)
	}
	if e.t != events.SchedSwitch.Type {
		return tr.pids.ignore(c.Current) && tr.pids.ignore(other)
	}
	only, not := eventPIDs{only: tr.pids.only}, eventPIDs{not: tr.pids.not}
	return not.ignore(c.Current) && not.ignore(other) || only.ignore(c.Current) && only.ignore(other)
}

// concernedBy returns the task besides the current one that a scheduler tracepoint is
// about, if it counts for set_event_pid.
func concernedBy(tp machine.Tracepoint) *machine.Task {
	switch tp := tp.(type) {
	case *machine.SchedSwitch:
		return tp.Next
	case *machine.SchedWakeup:
		return tp.Task
	}
	return nil
}
