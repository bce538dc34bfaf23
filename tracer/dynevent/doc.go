// Package dynevent implements the events that are defined while the machine runs:
// kprobes and kretprobes, fprobes and probes on tracepoints, uprobes, event probes and
// synthetic events. Their files are dynamic_events, kprobe_events, uprobe_events and
// synthetic_events.
//
//	a line of a file ─► Kind.Create ─► Definition (event/probe, event/synth)
//	                                      │ NewType
//	                                      ▼
//	               Host.AddEvent: an event like any other, in every instance
//	                                      ▲
//	a hit: kprobe, fprobe, uprobe … ──────┘ Host.Emit, with what its fetchargs read
//
// Packages tracer/event/probe and tracer/event/synth know how a definition is spelled.
// This package knows what a definition does on the machine: where a probe sits, when it
// is hit, what it reads (kernelSource, userSource, eventSource) and what keeps it from
// being deleted.
//
// Package tracer implements the [Host], which is what an [Events] asks of ftrace. It
// calls the Events at the hooks of the machine, with its lock held.
//
// Kernel: kernel/trace/trace_dynevent.c, trace_probe.c, trace_kprobe.c, trace_fprobe.c,
// trace_uprobe.c, trace_eprobe.c and trace_events_synth.c; kernel/kprobes.c.
package dynevent
