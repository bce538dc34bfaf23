// Package bridge makes the processes that use a mounted tree tasks of the simulated
// machine: a script that writes its own pid to set_event_pid then finds itself in
// the trace.
//
//	client ── open ──→ fusefs ── Before ──→ Bridge ──→ workload.Guests ──→ machine
//	kernel ── fork, exec, exit of all processes ──┤
//	cell ── system calls beside the tree ─Observe─┘
//
// Whoever touches the mount becomes a guest, and so do its children. Each request
// is a system call of the guest, with the arguments that the thread has which waits for the
// answer. In a cell, calls that name files are observed as well, whatever files they are
// (see Observe), and those that Config.Observe names. Nothing depends on what a program is
// called.
//
// Between two such calls, /proc says what the process does, and its guest does the same: it
// computes, or it sleeps in the call in which the process waits (see state).
//
// Births, new programs, new names and ends are told by the kernel's process connector; where
// that is not to be had (without root, in a container) /proc is looked at with each request,
// which sees less. What programs those were that have ended before anybody asked is told by
// fanotify, where that is to be had, too.
//
// Before a request is served, what the kernel told until then is brought into the
// simulation and the machine runs until its guests have done it: a child that was
// forked before the read of trace has left its events there.
//
// The guests of a cell live in a PID namespace of their own (Bridge.Enter) and are known
// by their numbers there. The connector tells those of the host; /proc translates, of a
// process that has ended before anybody asked what came before it (see pids).
//
// The threads of a guest are guests as well. Where the connector does not tell of them, only
// the first is shown, and the calls of the others are its calls.
//
// Departure: what guests do with files outside of the tree that are open already, as read,
// write and close, is not shown unless Config.Observe names these calls. Outside of a cell,
// in a cell whose calls cannot be observed, and on other computers than x86-64, nothing that
// they do beside the tree is shown but births, new programs and ends.
//
// A guest runs on the simulated CPU with the number of the one CPU to which its process is
// bound, as by taskset. Its markers are recorded on the CPU of the process.
//
// Departure: a guest that may run on several CPUs is scheduled on all simulated CPUs without
// regard to where its process runs on this computer.
//
// Left out: systems other than Linux.
package bridge
