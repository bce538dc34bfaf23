// Package machine is a deterministic computer: a few CPUs, tasks, a clock, named
// random streams, a symbol table and a kernel whose functions are called,
// traced and left like those of a real one. It knows no tracer; a tracer hangs
// itself into its [Hooks].
//
// # How it maps to a kernel
//
// Kernel code is a list of steps ([Code]): call a function, return, pass a
// tracepoint, switch tasks, halt. A [Workload] says which code runs: what a
// task does in its next stay in the kernel, how an interrupt is handled. The
// machine executes the steps and keeps what the steps are about consistent:
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
// A call pushes a [Frame] with the return address on the stack; a hook may
// replace the address, and the return then goes through Hooks.Return, which is
// how the function graph tracer works. Functions that the compiler left by a
// jump share the return address of their caller ([Site].Tail), so the real
// caller is not on the stack, as on real stacks. Functions that ftrace cannot
// see (noinstr, notrace) are there but hidden.
//
// A task that meets an [OpSwitch] goes to sleep inside schedule(), with its
// stack, and the next one of the run queue goes on where it slept. It wakes when
// code on any CPU passes [EvSchedWaking] and the workload picks it, or when the
// timer of its [Wait] fires. The idle task is a task like others: it runs
// do_idle, halts at an [OpHalt], takes interrupts there, and switches when there
// is somebody to switch to.
//
// # Time and order
//
// Time is nanoseconds since boot, the same clock for all CPUs. Each step has a
// time; the machine executes the earliest, of two at one time that of the lower
// CPU. So a seed and a workload make one run, hook for hook, however the run is
// cut into calls of [Machine.Run]. Chance comes from [Machine.Rand]: one stream
// per name, so that a new consumer of chance disturbs no other.
//
// What flags of trace events are made of (interrupts off, preemption depth,
// context) is in the [CPU] while a hook runs. Note that the graph tracer of a
// real kernel records an entry with a preemption depth one higher, because it
// has disabled preemption itself; here the CPU has the depth without any tracer.
//
// # What it models
//
// kernel/sched/core.c (schedule, try_to_wake_up, wake_up_new_task), kernel/fork.c
// and kernel/exit.c as far as tasks come and go, kernel/softirq.c and
// arch/x86/entry for the order of contexts, kernel/kallsyms.c, and of the block layer
// requests that are issued and complete. Left out: memory, files and devices
// otherwise (their functions run, nothing is stored; what they return is in
// [Values]), the weights of the fair class.
//
// The symbol table is that of Debian's linux-image-6.12 without address space
// randomisation: names, addresses and sizes of the text, what can be traced, and
// the modules that were loaded when it was read.
package machine
