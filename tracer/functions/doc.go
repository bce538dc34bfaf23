// Package functions knows which functions are traced, and by which users. [Hash] is a set
// of functions in a table like the kernel's, so that files list the set in the kernel's
// order. [OpsHash] is a filter together with the functions excluded from it. [Ops] is one
// user of function entries, and [Users] are all users on a machine.
//
// Package tracer calls [Users.Call] from the machine's hook while there are users.
//
// Kernel: kernel/trace/ftrace.c, include/linux/ftrace.h.
package functions
