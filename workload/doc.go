// Package workload gives a [machine.Machine] something to do that looks like a real
// kernel at work. The kernel code is not invented. It was learned from captures in
// which function_graph traced all functions of a Linux 6.12, and from stacks and
// function traces of the same kernel.
//
//	m, err := machine.New(machine.Config{CPUs: 4, Seed: 1})
//	s, err := workload.Find("mix")
//	err = s.Start(m)
//	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) { … }
//	m.Run(machine.Second)
//
// # The model
//
// internal/learn cuts the captures into segments: a system call from entry to exit, a
// page fault, an interrupt, a round of a kernel thread or of the idle loop. Segments of
// the same kind (the same system call, sleeping or not, forking or not, …) are sorted
// by length and divided into a few groups with the same amount of work. One segment
// stands for each group, as a [Template]. So each function keeps its share of all
// calls, while the number of different kernel stacks stays manageable: about eight
// thousand in a simulated second.
//
// A process is a [Script]: the stays of a captured process in the kernel, in their
// order, with the arguments and results of its system calls. A shell repeats its
// script. The processes that it forked in the capture are forked again, and run through
// scripts of their own.
//
// Return addresses on the stacks are those of real call instructions wherever a
// function trace (parent_ip) or a recorded stack shows them. Recorded stacks also show
// the functions that ftrace cannot see, and the functions that end with a jump to
// another one.
//
// Departure: for a third of the calls no trace shows a return address; these addresses
// are made up, inside the right function. Times are scaled from those of the emulated
// CPU on which the captures were taken. What a task sleeps for is not modelled: any
// wake-up of the right kind ends a sleep, or else a timer. Events that the captures did
// not record (kmem, timer, workqueue, signal, …) are reported by the functions that
// hold their tracepoints. Their arguments were learned for the allocation sites, and
// are made up for all others.
//
// # Scenarios
//
// [Scenarios] lists them. "mix" is the default. "busy" hardly ever leaves the kernel,
// "quiet" seldom enters it, and "idle" has kernel threads and timers only. "disk" adds
// a process that reads and writes a disk, "firmware" gaps in which the whole machine
// stands still, "deep" stacks that are deeper than a stackmap keeps.
//
// # Trails
//
// The code of "busy", "quiet" and "idle" is that of a few templates, so there are few
// different stacks. "tools", "vfs", "talk", "desk", "calls" and "switches" have as many as
// captures of the same programs. Their processes follow [Trails]: they take the ways
// through the kernel that recorded stacks show, each process in the order of a captured
// one, and compute and sleep as long as that did. When the captured time is over, they
// begin anew.
//
// "mix", and with it "disk", "firmware", "deep" and "longjmp", has both. For a second, its
// shells, a daemon and kernel threads run as they do in "busy", only slower. After
// a tenth of a second, processes begin that follow trails of allocations, functions and
// context switches at once. Beside these, the others have later a small share of the
// allocations and the switches. What happens in a stay of a process on a trail beside its
// ways is the learned code of the same functions. docs/calibration.md compares mix
// and the scenarios of trails with captures, also with such from which nothing was learned,
// and counts the functions of a stay and its events.
//
// Departure: a scenario with trails shows one kind of stacks: of allocations (tools, desk),
// of functions (vfs, calls) or of context switches (talk, switches). Only mix has them all.
// No task forks or executes a program in the others. In mix, a process on a trail is forked
// by another one that makes such a call at about the time, or comes from nowhere; a fork
// that comes at no such time fails. Arguments and results of its system calls are those of
// other captured calls with the number. In all of them, a timer ends each sleep, not another
// task. A task that has to give its CPU to another one computes until there is one. The
// addresses on the stacks of vfs are of a kernel that was built in another way, where no
// other capture shows them.
//
// # Users
//
// "users" and "frames" are scenarios of user stacks. Their processes run the programs of a
// capture: they fork, execute, wait and exit as the captured ones did, and make the same
// system calls in the same order, from the same places of their programs ([Users]). The words
// that a walk found there are in frames in their memory, so each walker of user stacks finds
// them by itself. They are relative to parts of the address space, which each exec places
// anew by chance, as Linux does. That is why a program that runs again has new stacks. Most
// programs of users have no frame pointers, so that their stacks end after one or two
// addresses or go on with words that are none; frames has programs with frame pointers, too.
// The program of a web page has neither scenario, because a browser loads it whole.
//
// # Modules
//
// [Modprobe] loads the modules that the kernel's own tests of tracing load.
// testmmiotrace, for example, maps the memory of a device, writes to it and reads it
// back. Modprobe also loads virtio_blk, the driver of a disk; [OpenDisk] starts a
// process that reads and writes the disk.
package workload
