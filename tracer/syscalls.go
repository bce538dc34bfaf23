package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// enterSyscall is the probe that the events of the syscalls system share, on
// raw_syscalls:sys_enter. The calls of 32-bit programs have other numbers, and no events here.
//
// Kernel: ftrace_syscall_enter, and trace_get_syscall_nr with
// ARCH_TRACE_IGNORE_COMPAT_SYSCALLS, kernel/trace/trace_syscalls.c.
func (ft *Ftrace) enterSyscall(c *machine.CPU, a *machine.SysEnter) {
	if t := ft.syscalls.Enter[a.NR]; t != nil && !c.Current.Compat && ft.listening[t.ID] {
		ft.emitSyscall(c, t, a.NR, a.Args[:])
	}
}

// exitSyscall is the same for raw_syscalls:sys_exit.
//
// Kernel: ftrace_syscall_exit, kernel/trace/trace_syscalls.c.
func (ft *Ftrace) exitSyscall(c *machine.CPU, a *machine.SysExit) {
	if t := ft.syscalls.Exit[a.NR]; t != nil && !c.Current.Compat && ft.listening[t.ID] {
		ft.emitSyscall(c, t, a.NR, []uint64{uint64(a.Ret)})
	}
}

// emitSyscall records a syscalls event: the number of the call and as many
// words as the event has fields. Its probe has preemption off.
func (ft *Ftrace) emitSyscall(c *machine.CPU, t *event.Type, nr int64, words []uint64) {
	h := common(c).Unpreemptible()
	ft.scratch = events.AppendSyscall(ft.scratch[:0], h, t, int32(nr), words)
	ft.emit(&happening{cpu: c, t: t, h: h, data: ft.scratch})
}
