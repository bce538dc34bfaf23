// Package functions says which functions ftrace looks at, and for whom: [Hash] is a set of
// functions in the kernel's own table, so that files list it in the kernel's order,
// [OpsHash] is a filter and what is excepted from it, [Ops] is one user of function
// entries, and [Users] are all of them on a machine.
//
// Package tracer hangs [Users.Call] into the machine's hook while there is anybody.
//
// Kernel: kernel/trace/ftrace.c, include/linux/ftrace.h.
package functions
