package tracer

import "ftracelab/workload/machine"

// followsTask reports whether set_ftrace_pid and set_ftrace_notrace_pid let
// functions of the task that runs on c through.
//
// Kernel: ftrace_pid_func and trace_ignore_this_task, kernel/trace/ftrace.c and
// trace.c.
func (i *Instance) followsTask(c *machine.CPU) bool {
	if i.functionPIDs == nil && i.functionNoPIDs == nil {
		return true
	}
	return (i.functionPIDs == nil || i.functionPIDs.has(c.Current)) && !i.functionNoPIDs.has(c.Current)
}
