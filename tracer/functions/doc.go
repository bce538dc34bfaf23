// Package functions says which functions ftrace looks at: [Hash] is a set of them in the
// kernel's own table, so that files list it in the kernel's order, [OpsHash] is a filter
// and what is excepted from it,
// and [Ops] is one user of function entries.
//
// Package tracer registers the users with the machine and calls them.
//
// Kernel: kernel/trace/ftrace.c, include/linux/ftrace.h.
package functions
