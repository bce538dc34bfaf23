// Package dynevent is the events that are defined while the machine runs: kprobes and
// kretprobes, fprobes and probes on tracepoints, uprobes, event probes and synthetic
// events, with their files dynamic_events, kprobe_events, uprobe_events and
// synthetic_events.
//
//	a line of a file ─► Kind.Create ─► Definition (event/probe, event/synth)
//	                                      │ NewType
//	                                      ▼
//	               Host.AddEvent: an event like any other, in every instance
//	                                      ▲
//	a hit: kprobe, fprobe, uprobe … ──────┘ Host.Emit, with what its fetchargs read
//
// How a definition is spelled is in packages tracer/event/probe and tracer/event/synth.
// Here is what it does on the machine: where a probe sits, when it is hit, what it reads
// (kernelSource, userSource, eventSource) and what keeps it from being deleted.
//
// Package tracer gives what an [Events] asks of ftrace, a [Host], and calls it at the
// hooks of the machine, with its lock held.
//
// Kernel: kernel/trace/trace_dynevent.c, trace_probe.c, trace_kprobe.c, trace_fprobe.c,
// trace_uprobe.c, trace_eprobe.c and trace_events_synth.c; kernel/kprobes.c.
package dynevent
