package machine

// Tracepoint is the argument list of one tracepoint (TP_PROTO): SchedSwitch,
// KmemCacheAlloc, …
type Tracepoint interface {
	// Event says which tracepoint it is; its TracepointName is "system:event", as in
	// available_events.
	Event() Event
}

// Hooks are the places of the running kernel that tracers attach to. A nil hook
// costs a comparison.
type Hooks struct {
	// Call runs at the entry of every function that ftrace can see; it may replace f.Ret.
	Call func(c *CPU, f *Frame)
	// Return runs when a function returns to a replaced address.
	Return func(c *CPU, f *Frame)
	// Trace runs at a tracepoint that is enabled; tp is only valid during the call.
	Trace func(c *CPU, tp Tracepoint)
	// Critical runs when interrupts or preemption are switched off or on: after
	// the switch off, before the switch on. p.ID is one of EvIRQDisable,
	// EvIRQEnable, EvPreemptDisable and EvPreemptEnable; p is only valid during
	// the call. The tracepoints of that name run beside it.
	Critical func(c *CPU, p *PreemptIRQ)
	// Idle runs when the idle task halts and when it goes on, at the address ip:
	// waiting there is no latency, whatever is switched off.
	Idle func(c *CPU, halted bool, ip uint64)
	// MMIO runs when a driver maps a device's memory, reads or writes it; a is only
	// valid during the call.
	MMIO func(c *CPU, a *MMIO)
	// UserEntry and UserExit bracket each stay in the kernel that comes from user
	// space (cookies, deferred unwinding). Task.User is where user space was.
	UserEntry func(c *CPU)
	UserExit  func(c *CPU)
	// User runs when a task goes on in user space behind a system call. Task.User is
	// where, or Task.Starts, which the hook then takes away.
	User func(c *CPU)
	// Switch runs when c changes tasks, before Current changes.
	Switch func(c *CPU, prev, next *Task)
	// Hotplug runs before a CPU goes, when its tasks still run, and when it has come.
	Hotplug func(c *CPU, online bool)
	// Module runs when a module has been loaded and before it is unloaded; mod is
	// the machine's, as long as it is loaded.
	Module func(mod *Module, loaded bool)
	// NMI runs where an NMI has begun and where it is about to end, in its context.
	NMI func(c *CPU, enter bool)
	// Printk runs where code calls trace_printk; p belongs to the machine.
	Printk func(c *CPU, p *Printk)
	// Exit runs when a task has left its CPU for good.
	Exit func(t *Task)
}
