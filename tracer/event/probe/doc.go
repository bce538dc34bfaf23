// Package probe is the language of dynamic probe events. It turns the text of
// one definition into a [Definition], or an [Error] with its column, and it
// makes the record that a hit of the probe writes into the ring buffer.
//
//	p:grp/open do_sys_openat2+0 dfd=%di:s32 name=+0(%si):ustring
//	│ │        │                │
//	│ │        │                └ arguments: NAME=FETCHARG:TYPE, each a small program
//	│ │        └ place: function, address, file and offset, tracepoint, event
//	│ └ group and event; made up if not given
//	└ kind: p r (function, or file), f (function), t (tracepoint), e (event)
//
// Parsing asks an [Env] which functions, tracepoints, files and types there
// are. Firing asks a [Source] for registers and memory. The package knows
// neither a tracer nor a machine. The registry of dynamic events, which keeps
// the probes, asks the definition for its line ([Definition.Show]), its event
// type ([Definition.NewType]), and whether it may join another's event
// ([Definition.CheckAppend]).
//
//	ParseKprobe(text, env) → Definition → NewType(id) → format file
//	                                    → Append(dst, common, hit, source) → record
//
// Kernel: kernel/trace/trace_probe.c, trace_probe.h, trace_probe_tmpl.h, and the
// parsing halves of trace_kprobe.c, trace_uprobe.c, trace_fprobe.c, trace_eprobe.c.
package probe
