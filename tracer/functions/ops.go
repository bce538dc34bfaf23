package functions

import "ftracelab/machine"

// Ops is one user of function entries, with the
// functions it wants. The tracers of an instance share the instance's filter;
// a function command, the stack tracer and the profiler have their own.
//
// Kernel: struct ftrace_ops, include/linux/ftrace.h.
type Ops struct {
	Hash *OpsHash
	Call func(c *machine.CPU, f *machine.Frame)
	// Follows reports whether the user looks at the task that runs on c, as an instance's
	// set_ftrace_pid says; nil for a user that looks at every task.
	Follows func(c *machine.CPU) bool
	// Handler is the kernel's function behind Call, for enabled_functions.
	Handler string
	// Wants stands in for Hash, which then is nil, where Call looks at filters of
	// its own: the graph's users have one each.
	Wants func(ip uint64) bool

	Direct *machine.Direct // of a module that takes its calls without ftrace
	Regs   bool            // wants all registers (FTRACE_OPS_FL_SAVE_REGS)

	Trampoline uint64 // made up while registered
}

// Traces reports whether o wants a function.
func (o *Ops) Traces(ip uint64) bool {
	if o.Wants != nil {
		return o.Wants(ip)
	}
	return o.Hash.Wants(ip)
}
