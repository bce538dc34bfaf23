// Package workload gives a [machine.Machine] something to do that looks like a
// real kernel at work. Its kernel code is not invented: it was learned from
// captures of function_graph over all functions of a Linux 6.12, together with
// stacks and function traces of the same kernel.
//
//	m, err := machine.New(machine.Config{CPUs: 4, Seed: 1})
//	s, err := workload.Find("mix")
//	err = s.Start(m)
//	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) { … }
//	m.Run(machine.Second)
//
// # The model
//
// internal/learn cuts the captures into segments: a system call from entry to
// exit, a page fault, an interrupt, a round of a kernel thread or of the idle
// loop. Segments of the same kind (number of the system call, whether it sleeps,
// forks, …) are sorted by length and cut into a few parts of equal work; of each
// part one segment stands for all, as a [Template]. So the functions keep their
// shares of all calls while the number of different kernel stacks stays small
// enough to look at: about eight thousand in a simulated second.
//
// A process is a [Script]: the stays of a captured process in their order, with
// the arguments and results of its system calls. Shells repeat theirs; whatever
// they forked in the capture is forked again and lives through its own script.
//
// Return addresses on the stacks are those of real call instructions wherever
// a function trace (parent_ip) or a recorded stack shows them; so are the functions
// that ftrace cannot see and the jumps to a last callee.
//
// Departure: a return address is made up (inside the right function) for the
// third of the calls that no trace shows. Times are a scaled version of those of
// the emulated CPU on which the captures were taken. What a task sleeps for is
// not modelled: any wake-up of the right kind ends a sleep, at the latest a timer
// does. Events the captures did not record (kmem, timer, workqueue, signal, …)
// are reported by the functions that hold their tracepoints, with arguments
// learned for the allocation sites and made up otherwise.
//
// # Scenarios
//
// [Scenarios] lists them. "mix" is the default; "busy" hardly leaves the kernel,
// "quiet" seldom enters it, "idle" has kernel threads and timers only, "disk" has a
// process that reads and writes a disk besides, "firmware" machine-wide gaps.
//
// # Modules
//
// [Modprobe] loads what the kernel's tests of tracing load, and virtio_blk, which brings
// a disk: [OpenDisk] has a process read and write it. testmmiotrace maps the memory of a
// device, writes it and reads it back.
package workload
