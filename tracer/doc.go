// Package tracer is the control plane of ftrace: instances with their ring
// buffers, the tracers that current_tracer selects, events, options, clocks,
// and the tracefs files that steer them.
//
//	machine hooks ──► attach ──► tracer or event ──► Recorder ──► ringbuf
//	                               │ options/stacktrace        │
//	                               └─ kernel and user stacks ──┘
//	                                                         trace, trace_pipe, raw pages
//
// Four things are worth knowing before reading on.
//
// Everything an instance writes goes through its [record.Recorder]. A real capture
// uses the same, so what is learnt about a design on a capture holds
// for the simulated machine and the other way round.
//
// A tracer (struct tracer in the kernel) is one row of a table ([plugin.Tracer]): a
// name, what happens when it is selected and left, what it does where. What it
// remembers is its own. Some tracers have packages below this one (sampler, blk,
// mmiotrace, and rv, which is no tracer), and see of it what host.go shows. The tracers
// of latencies stay here: they start and stop function tracing and exchange buffers,
// and of an instance they use more than forty names. Events are independent of all.
//
// Events may come and go while the kernel runs (dynevent.go). What dynamic_events
// lists is definitions of several kinds: probes, which are alike (traceprobe.go) but for
// what they are put on, and synthetic events.
//
// A tracefs file is declared beside the state it shows; [Ftrace.Root] hangs
// the declarations into a tree.
//
// The package is flat, as kernel/trace is, and a file is called what it shows:
//
//	instance options buffersize clock trace pipe snapshot marker …   an instance and its files
//	events eventfiles eventfilter eventtriggers emit tracepoints …   events
//	function functions functionhash functionprobe profiler …         functions and who wants them
//	tracers host latency irqsoff wakeup function_graph …             the table of tracers, and those that are here
//	dynevent dynamic kprobe uprobe fprobe eprobe synthetic hist …    what a user adds to the kernel's events
//
// What needs no instance has a package of its own below event, and output.
//
// Kernel: kernel/trace/trace.c, trace_events.c, trace_functions.c,
// trace_functions_graph.c, trace_nop.c, trace_dynevent.c; each file names its own.
package tracer
