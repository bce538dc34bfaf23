package machine

// Tracepoint is the argument list of one tracepoint (TP_PROTO): SchedSwitch,
// KmemCacheAlloc, …
type Tracepoint interface {
	// Event says which tracepoint it is. Its TracepointName is "system:event", as in
	// available_events.
	Event() Event
}

// Hooks are functions that the running kernel calls, to which tracers attach. A nil
// hook only costs a comparison.
type Hooks struct {
	// Call runs at the entry of every function that ftrace can see; it may replace f.Ret.
	Call func(c *CPU, f *Frame)
	// Return runs when a function returns to a replaced address.
	Return func(c *CPU, f *Frame)
	// Recover gives an unwinder the address that a replaced return address stands for.
	// ret was found on t's stack at place (see Frame.Place). One walk down a stack passes
	// the same index to all its calls, 0 at first. An address that was not replaced, or
	// that is not known, is returned as it is.
	//
	// Kernel: unwind_recover_ret_addr, arch/x86/include/asm/unwind.h.
	Recover func(t *Task, index *int, ret, place uint64) uint64
	// Trace runs at a tracepoint that is enabled; tp is only valid during the call.
	Trace func(c *CPU, tp Tracepoint)
	// Learned runs where an event of a learned activity happens, if it is enabled.
	Learned func(c *CPU, said Said)
	// Critical runs when interrupts or preemption are switched: after they were
	// switched off, and before they are switched on. p.ID is one of EvIRQDisable,
	// EvIRQEnable, EvPreemptDisable and EvPreemptEnable; p is only valid during the
	// call. The tracepoints with these names run as well.
	Critical func(c *CPU, p *PreemptIRQ)
	// Idle runs when the idle task halts and when it goes on, at the address ip. The
	// wait between the two is no latency, whatever is switched off.
	Idle func(c *CPU, halted bool, ip uint64)
	// MMIO runs when a driver maps a device's memory, reads or writes it; a is only
	// valid during the call.
	MMIO func(c *CPU, a *MMIO)
	// UserEntry and UserExit bracket each stay in the kernel that comes from user
	// space (cookies, deferred unwinding). Task.User is where user space was.
	UserEntry func(c *CPU)
	UserExit  func(c *CPU)
	// User runs when a task goes on in user space after a system call. Task.User tells
	// where it goes on. If Task.Starts is set, that tells it instead, and the hook then
	// clears it.
	User func(c *CPU)
	// Probed says whether there is a probe at an offset in a file. A workload that executes
	// programs instruction by instruction asks it; nil: there is no probe.
	Probed func(file, offset uint64) bool
	// Breakpoint runs when the current task has come to such a place (handle_swbp).
	Breakpoint func(c *CPU, at Place)
	// Switch runs where sched_switch is reported: c is about to change tasks, and Current
	// is still prev.
	Switch func(c *CPU, prev, next *Task)
	// Hotplug runs before a CPU goes offline, while its tasks still run, and after one
	// has come online.
	Hotplug func(c *CPU, online bool)
	// Module runs after a module was loaded, and before one is unloaded. mod belongs to
	// the machine and is valid while the module is loaded.
	Module func(mod *Module, loaded bool)
	// ModuleRefs counts what refers to a loaded module, which cannot be unloaded meanwhile.
	// nil: nothing does.
	ModuleRefs func(name string) int
	// NMI runs where an NMI has begun and where it is about to end, in its context.
	NMI func(c *CPU, enter bool)
	// Printk runs where code calls trace_printk; p belongs to the machine.
	Printk func(c *CPU, p *Printk)
	// Dump writes what the tracer has recorded to the kernel's log.
	//
	// Kernel: ftrace_dump, kernel/trace/trace.c.
	Dump func()
	// Exiting runs when the current task exits, after sched_process_exit. It still has
	// its address space.
	//
	// Kernel: do_exit, kernel/exit.c, before exit_mm.
	Exiting func(c *CPU)
	// Executing runs when the current task is about to begin another program. It still has
	// the memory and the registers of the old one.
	//
	// Kernel: begin_new_exec, fs/exec.c, before exec_mmap.
	Executing func(c *CPU)
	// Exit runs when a task has left its CPU for good.
	Exit func(t *Task)
}
