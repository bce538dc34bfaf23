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
// Everything an instance writes goes through its [Recorder]. A real capture
// uses the same Recorder, so what is learnt about a design on a capture holds
// for the simulated machine and the other way round.
//
// A tracer (struct tracer in the kernel) is one row of a table: a name, what
// happens when it is selected and left, what it does at a function's entry.
// Events are independent of it.
//
// Events may come and go while the kernel runs (dynevent.go). What dynamic_events
// lists is definitions of several kinds: probes, which are alike (traceprobe.go) but for
// what they are put on, and synthetic events.
//
// A tracefs file is declared beside the state it shows; [Ftrace.Root] hangs
// the declarations into a tree.
//
// Kernel: kernel/trace/trace.c, trace_events.c, trace_functions.c,
// trace_functions_graph.c, trace_nop.c, trace_dynevent.c, trace_kprobe.c.
package tracer
