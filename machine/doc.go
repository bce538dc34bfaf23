// Package machine is a deterministic computer: a few CPUs, tasks, a clock, named random
// streams, a symbol table, and a kernel whose functions are called, traced and left
// like those of a real one. It knows no tracer; a tracer attaches itself to its
// [Hooks].
//
// # How it maps to a kernel
//
// Kernel code is a list of steps ([Code]): call a function, return, pass a tracepoint,
// switch tasks, halt. A [Workload] says which code runs: what a task does in its next
// stay in the kernel, how an interrupt is handled. The machine executes the steps and
// keeps its state consistent with them:
//
//	user space    kernel stack of the task          CPU
//	          ┌─ entry_SYSCALL_64_after_hwframe  ⎫
//	  stay ───┤  do_syscall_64                   ⎬ hidden: no hook runs
//	          │  ksys_read                       ⎭─── Hooks.Call, Hooks.Return
//	          │  vfs_read
//	          │    ┌─ asm_sysvec_apic_timer_interrupt  ← an interrupt, on top of
//	          └────┤  sysvec_apic_timer_interrupt        what it came upon
//	               └─ hrtimer_interrupt
//
// A call pushes a [Frame] with the return address on the stack. A hook may replace the
// address; the return then goes through Hooks.Return, which is how the function graph
// tracer works. If a function ends with a jump to another one, that one has its return
// address ([Site].Tail), and the function itself is no longer on the stack, as on real
// stacks. Functions that ftrace cannot see (noinstr, notrace) are on the stack but
// hidden.
//
// A task that comes to an [OpSwitch] goes to sleep inside schedule(), with its stack,
// and the next task of the run queue goes on where it had gone to sleep. A task wakes
// when code on any CPU passes [EvSchedWaking] and the workload chooses the task, or
// when the timer of its [Wait] fires. The idle task is a task like any other: it runs
// do_idle, halts at an [OpHalt], takes interrupts there, and switches when another task
// can run.
//
// # Time and order
//
// Time is nanoseconds since boot, the same clock for all CPUs. Each step has a time,
// and the machine executes the earliest one; if two have the same time, that of the
// lower CPU. So a seed and a workload determine the run, hook for hook, however the run
// is divided into calls of [Machine.Run]. Random numbers come from [Machine.Rand],
// which has one stream per name, so that a new consumer does not disturb the others.
//
// While a hook runs, the [CPU] has the state from which the flags of trace events are
// made (interrupts off, preemption depth, context). Note that the graph tracer of a
// real kernel records an entry with a preemption depth one higher, because it has
// disabled preemption itself; here the CPU has the depth without any tracer.
//
// # What it models
//
// kernel/sched/core.c (schedule, try_to_wake_up, wake_up_new_task), kernel/fork.c and
// kernel/exit.c as far as tasks come and go, kernel/softirq.c and arch/x86/entry for
// the order of contexts, kernel/kallsyms.c, and, of the block layer, requests that are
// issued and completed. Left out are memory, files and all other devices (their
// functions run, but nothing is stored; what they return is in [Values]), and the
// weights of the fair class.
//
// The symbol table is that of Debian's linux-image-6.12 without address space
// randomisation. It has the names, addresses and sizes of the functions, tells which
// can be traced, and includes the modules that were loaded when it was read.
package machine
