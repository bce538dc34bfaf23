package functions

import "ftracelab/machine"

// Ops is one user of function entries, with the functions it wants. The tracers of an
// instance share the instance's filter. A function command, the stack tracer and the
// profiler have filters of their own.
//
// Kernel: struct ftrace_ops, include/linux/ftrace.h.
type Ops struct {
	Hash *OpsHash
	Call func(c *machine.CPU, f *machine.Frame)
	// Follows reports whether the user looks at the task that runs on c, as an instance's
	// set_ftrace_pid says; nil for a user that looks at every task.
	Follows func(c *machine.CPU) bool
	// Handler is the name of the kernel's function that does what Call does, for
	// enabled_functions.
	Handler string
	// Wants takes the place of Hash, which then is nil, if Call looks at filters of its
	// own. The users of the graph, for example, have one filter each.
	Wants func(ip uint64) bool

	Direct *machine.Direct // a module's direct call, which goes past ftrace; nil for others
	Regs   bool            // the user wants all registers (FTRACE_OPS_FL_SAVE_REGS)

	Trampoline uint64 // a made-up address while registered
}

// wantsAll reports whether o is called for every function, whichever task enters it.
func (o *Ops) wantsAll() bool {
	return (o.Hash == nil || o.Hash.Filter.Empty() && o.Hash.Notrace.Count == 0) && o.Follows == nil
}

// Traces reports whether o wants a function.
func (o *Ops) Traces(ip uint64) bool {
	if o.Wants != nil {
		return o.Wants(ip)
	}
	return o.Hash.Wants(ip)
}
