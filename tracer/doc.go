// Package tracer is the control plane of ftrace: instances with their ring
// buffers, the tracers that current_tracer selects, events, options, clocks,
// and the tracefs files that steer them.
//
//	machine hooks ──► attach ──► tracer or event ──► Recorder ──► ringbuf
//	                               │ options/stacktrace        │
//	                               └─ kernel and user stacks ──┘
//	                                                         trace, trace_pipe, raw pages
//
// Three things are worth knowing before reading on.
//
// Everything an instance writes goes through its [Recorder]. A real capture
// uses the same Recorder, so what is learnt about a design on a capture holds
// for the simulated machine and the other way round.
//
// A tracer (struct tracer in the kernel) is one row of a table: a name, what
// happens when it is selected and left, what it does at a function's entry.
// Events are independent of it.
//
// A tracefs file is declared beside the state it shows; [Ftrace.Root] hangs
// the declarations into a tree.
//
// Kernel: kernel/trace/trace.c, trace_events.c, trace_functions.c,
// trace_functions_graph.c, trace_nop.c.
package tracer
