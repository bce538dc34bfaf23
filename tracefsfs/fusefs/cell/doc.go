// Package cell runs a program of this computer that shall use the emulation and
// believe it is the kernel's: ftracelab exec.
//
//	ftracelab exec ── Reexec ──→ itself in mounts of its own
//	                                │ hide      the host's tracefs and debugfs go
//	                                │ mount     the tree at /sys/kernel/tracing
//	                                │ overlay   /proc/kallsyms, /proc/sys/kernel, …
//	                                │ check     nothing of the host's is left
//	                                └ Run ────→ the program, without CAP_SYS_ADMIN
//
// The program must never reach the host's tracing. Three things see to it, and
// without any of them the cell refuses to start: the host's mounts of it are taken
// out of the cell's namespace, the program lacks the right to mount it again
// (libtracefs would, silently), and after all is set up the mounts are read again
// and compared. The rights to load modules and BPF programs are taken, too. A program
// that sets out to leave its cell as root can: this keeps clients from mistakes, not
// attackers from the host.
//
// Departure: perf_event_open is the host's (perf record, perf stat), because perf
// ftrace wants the right to it.
//
// Left out: systems other than Linux.
package cell
