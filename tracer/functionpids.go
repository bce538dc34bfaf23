package tracer

import "ftracelab/machine"

// setFollows lets the function tracer ask for the task only if there are pids to compare
// it with.
//
// Kernel: ftrace_update_pid_func, kernel/trace/ftrace.c.
func (tr *Instance) setFollows() {
	tr.ops.Follows = nil
	if tr.functionPIDs != nil || tr.functionNoPIDs != nil {
		tr.ops.Follows = tr.followsTask
	}
}

// followsTask reports whether set_ftrace_pid and set_ftrace_notrace_pid let through
// the functions of the task that runs on c. From sched_switch on, the next task is the one
// that is followed, so what the task that leaves still calls is not traced.
//
// Kernel: ftrace_pid_func and trace_ignore_this_task, kernel/trace/ftrace.c and
// trace.c.
func (tr *Instance) followsTask(c *machine.CPU) bool {
	if tr.functionPIDs == nil && tr.functionNoPIDs == nil {
		return true
	}
	if c.Departing() {
		return false
	}
	return (tr.functionPIDs == nil || tr.functionPIDs.Has(c.Current.PID)) && !tr.functionNoPIDs.Has(c.Current.PID)
}
