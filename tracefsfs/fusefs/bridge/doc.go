// Package bridge makes the processes that use a mounted tree tasks of the simulated
// machine: a script that writes its own pid to set_event_pid then finds itself in
// the trace.
//
//	client ── open ──→ fusefs ── Before ──→ Bridge ──→ workload.Guests ──→ machine
//	kernel ── fork, exec, exit of all processes ──┘
//
// Whoever touches the mount becomes a guest, and so do its children. Each request
// is a system call of the guest. What processes do without touching the mount is
// told by the kernel's process connector; where that is not to be had (without root,
// in a container) /proc is looked at with each request, which sees less. What programs
// those were that have ended before anybody asked is told by fanotify, where that is to
// be had, too.
//
// Before a request is served, what the kernel told until then is brought into the
// simulation and the machine runs until its guests have done it: a child that was
// forked before the read of trace has left its events there.
//
// The guests of a cell live in a PID namespace of their own (Bridge.Enter) and are known
// by their numbers there. The connector tells those of the host; /proc translates, of a
// process that has ended before anybody asked what came before it (see pids).
//
// Departure: a process outside of a cell is a guest under its pid as the host gives it. Other threads
// than the first, and processes whose pid a simulated task has, are not shown.
//
// Left out: systems other than Linux.
package bridge
