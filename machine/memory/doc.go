// Package memory holds what dynamic probes can read of a simulated machine: registers,
// stacks, arguments of functions and tracepoints, and memory at an address. Everything
// is made only when it is asked for, and the machine does not know about it.
//
//	mem, err := memory.New(m)
//	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
//		at := mem.Enter(c, f)                 // at the entry of a function
//		name := at.Arg(1)                     // do_sys_openat2's filename
//		n := mem.User(c, buf, name)           // the bytes there
//	}
//
// # Addresses
//
//	0000000000000000…  user memory of the current task: its stack, what its system call names
//	ffff888000000000…  the direct mapping; the objects below lie in it from ffff888140000000 on
//	ffffc90000000000…  kernel stacks, 16 KB for each pid
//	ffffea0000000000…  struct page
//	ffffffff81000000…  text, then data of the kernel; ffffffffc0000000… of its modules
//
// Objects (a task, a file, its dentry, its inode …) get an address when they are first
// asked for, and keep it. If there are too many of a kind, the address of the oldest
// one is used again, as in a slab cache. Their members lie where package btf says. A
// pointer in an object leads to another object.
//
// # What is true
//
// The following comes from the machine: tasks (name, pids, priority, state, when they
// started and how long they ran), the arguments of system calls, page faults, what is
// allocated and freed, return addresses on stacks, the system call's registers at the
// top of a stack, and the paths that a workload tells ([Names]).
//
// Departure: everything else is made up, in the same way in every run. An argument
// about which nothing is known is a small number or a pointer to an object of its type.
// Members about which nothing is known are 0, and lists are empty. Words of a stack
// that are no return addresses are made up, and on the stacks of tasks that do not run,
// all words are. A return address that the graph tracer has replaced reads as the
// original. Registers that hold no argument are made up. What a function gets from its
// callers is guessed from the names and types of its parameters: a file, path or buffer
// is that of the system call.
//
// Kernel: arch/x86/include/asm/ptrace.h, arch/x86/kernel/ptrace.c, mm/maccess.c.
package memory
