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

// taskForked and taskFreed keep lists of tasks that follow forks up to date.
//
// Kernel: ftrace_pid_follow_sched_process_fork, kernel/trace/ftrace.c.
func (ft *Ftrace) taskForked(parent, child *machine.Task) {
	for i := range ft.all {
		if i.opts.Has(OptFunctionFork) {
			i.functionPIDs.forked(parent, child)
			i.functionNoPIDs.forked(parent, child)
		}
	}
}

func (ft *Ftrace) taskFreed(pid int) {
	for i := range ft.all {
		if i.opts.Has(OptFunctionFork) {
			i.functionPIDs.freed(pid)
			i.functionNoPIDs.freed(pid)
		}
	}
}

// followsForks reports whether some list of tasks follows forks.
func (ft *Ftrace) followsForks() bool {
	for i := range ft.all {
		if i.opts.Has(OptFunctionFork) {
			return true
		}
	}
	return false
}
