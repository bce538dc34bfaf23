package tracer

import "ftracelab/machine"

// followsTask reports whether set_ftrace_pid and set_ftrace_notrace_pid let through
// the functions of the task that runs on c.
//
// Kernel: ftrace_pid_func and trace_ignore_this_task, kernel/trace/ftrace.c and
// trace.c.
func (tr *Instance) followsTask(c *machine.CPU) bool {
	if tr.functionPIDs == nil && tr.functionNoPIDs == nil {
		return true
	}
	return (tr.functionPIDs == nil || tr.functionPIDs.Has(c.Current.PID)) && !tr.functionNoPIDs.Has(c.Current.PID)
}
