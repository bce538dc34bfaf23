// Package unwind takes the stack of a user program, not where an event happens but on
// the way back to user space, once for all events of one stay in the kernel.
//
// # Why deferred
//
// A user stack may be swapped out, and then it cannot be read in an interrupt
// or NMI; but while a task stays in the kernel its user stack does not change.
// So a tracer only asks for the stack ([Deferred.Request]) and gets a cookie
// that names this stay. It writes the cookie with its event. Just before the
// task goes back the stack is walked once and written once, with the same
// cookie; whoever reads the trace puts the two together ([Join]).
//
//	user ──syscall──► kernel                                    ──► user
//	                    │  event A   event B (in an NMI)  │
//	                    │  Request   Request              │ walk, once
//	                    └► cookie 3/cpu 0   same cookie   └► stack, cookie 3/cpu 0
//
// A cookie consists of a count and the CPU that made it, so no two stays share one:
//
//	 63                       32 31                        0
//	┌───────────────────────────┬───────────────────────────┐
//	│ count of that CPU: 3 5 7… │ CPU + 1                   │
//	└───────────────────────────┴───────────────────────────┘
//
// The walk itself is in package user.
//
// Kernel: kernel/unwind/deferred.c of Linux 6.17; 6.12 does not have it. The ftrace
// side (option userstacktrace_delay) was only proposed.
//
// What differed between revisions and machines is a value in [Config]: whether the stacks
// of 32-bit programs are walked, how many tracers there can be, whether an NMI can ask, how
// a cookie looks, what becomes of a stay in which a program begins, and how deep a stack can be.
//
// A program that a task begins with exec is another one, but the stay goes on. In the kernel
// all its events get the stack with which the new program begins, also those from before. Here
// the old stack is walked before it is gone, and the events after it have another cookie.
//
// Left out: the task_work machinery under the requests, of which only "runs before the
// return to user space" remains.
package unwind
