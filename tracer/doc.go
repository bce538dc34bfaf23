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
// uses the same recorder, so what is learnt about a design on a capture also holds
// for the simulated machine, and the other way round.
//
// A tracer (struct tracer in the kernel) is one row of a table ([plugin.Tracer]): a
// name, what happens when the tracer is selected and left, and what it does at which
// place. It keeps its state itself. Most tracers have packages below this one
// (sampler, blk, mmiotrace and latency, and rv, which is not a tracer). They see what
// host.go shows. The tracers function, function_graph and nop stay here. Events do
// not depend on any tracer.
//
// Events may come and go while the kernel runs (package dynevent). dynamic_events
// lists definitions of several kinds: probes, which differ only in what they are
// attached to, and synthetic events.
//
// A tracefs file is declared beside the state it shows; [Ftrace.Root] hangs
// the declarations into a tree.
//
// The package is flat, as kernel/trace is, and a file is named after what it shows:
//
//	instance options buffersize clock trace pipe snapshot marker …   an instance and its files
//	events eventfiles eventfilter eventtriggers happen tracepoints … events
//	function functionfilter functioncommands functionprobe …         functions and who wants them
//	tracers host function_graph graphfilter …                        the table of tracers, and those that are here
//	dynamic dynhost hist synthtrace …                                what a user adds to the kernel's events
//
// What needs no instance is in packages of its own, for example event and output.
//
// Kernel: kernel/trace/trace.c, trace_events.c, trace_functions.c,
// trace_functions_graph.c, trace_nop.c, trace_dynevent.c; each file names its own.
package tracer
