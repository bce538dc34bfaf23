// Package events is the catalogue of events: Linux 6.12's own, declared as Go
// structs, with the ids and the format files of Debian's kernel for x86-64.
//
//	ftrace         what tracers, trace_marker and the stack options write
//	sched kmem irq irq_vectors timer workqueue signal task exceptions
//	               tracepoints of the core kernel, complete systems
//	block          those of its tracepoints that a read or write of a disk passes
//	raw_syscalls   every system call
//	syscalls       each system call by name; its two events follow from one
//	               row of a table, as from a SYSCALL_DEFINE in the kernel
//
// An event is one struct, the record, and one [event.Define]; events of one class share
// the record. All gives them in the kernel's order. To add an event, write both and
// name it in the list of its system. A test compares its format file with the kernel's.
//
//	rec := events.SchedWakeupRecord{PID: 42, Prio: 120, TargetCPU: 1}
//	buf = events.SchedWakeup.Append(buf[:0], event.Common{PID: 7}, &rec)
//
// Kernel: include/trace/events, kernel/trace/trace_entries.h,
// arch/x86/include/asm/trace, kernel/trace/trace_syscalls.c.
//
// Of the events of drivers, file systems and the network there are only format files.
// Nothing here records them.
package events
