// Package capture reads traces of real machines and delivers them like the tracers
// of a simulated one: as [record.Record] values, in order, without holding a trace
// in memory.
//
//	text of trace, trace_pipe ─┐  lines → context → record re-built from its text
//	text of perf script ───────┤  blocks → samples → stacks looked up by their hash
//	folded stacks ─────────────┼→ record.Record: event, its kernel stack, its user stack, …
//	folder of cpuN.raw pages ──┤  pages → events → merged by time
//	trace.dat ─────────────────┘  shown as such a folder, by package tracedat
//
// [Open] finds out which it is, undoes gzip and zstd, and reads on; see [Example] for
// a capture that comes with the program.
//
//	c, err := capture.Open("trace.txt.gz", capture.Options{})
//	if err != nil { … }
//	defer c.Close()
//	var r record.Record
//	for err = c.Next(&r); err == nil; err = c.Next(&r) {
//		…
//	}
//
// # What a capture knows
//
// Only the folder has everything: records byte for byte, times in nanoseconds,
// addresses, and with [Capture.Pages] the images themselves. Each of the others lacks
// something, and [Capture.Caveats] says what, with its bounds:
//
//	        record sizes           times        CPU      frames        kernel | user
//	folder  as recorded            ns           yes      addresses     yes
//	ftrace  format + text          µs           yes      names mostly  yes
//	perf    24 bytes, assumed      as printed   may be   addresses     by their DSO
//	folded  24 bytes, assumed      none         no       names         marked _[k] or not
//
// Weights of folded stacks that add up to more than 2^20 are divided by one number: a
// stack then is that many times rarer, and comes at least once.
//
// A record of text is binary like any other: the common header as far as the text
// tells it, then fields that are zero, in the size that the event's format and the
// strings in the text give. A stack of text has no Data. A frame that is a name has
// an address made from its text, where neither the kernel nor a process has any;
// [Capture.Symbol] gives the text back.
//
// # A capture folder
//
//	cpuN.raw[.gz|.zst]   what per_cpu/cpuN/trace_pipe_raw gave
//	stats.cpuN           per_cpu/cpuN/stats, taken before
//	saved_cmdlines
//	stack_map_bin, stack_map     of a kernel with a stackmap: what its stack ids stand for
//	state.txt            may have lines FILE: CONTENT, such as buffer_subbuf_size_kb: N
//	events/*/*/format    of events the kernel's files do not have
//	formats_all.txt      all format files, each behind a line ==== events/SYSTEM/NAME
//	kallsyms.txt, kallsyms.modules.txt, header_page.txt
//
// [OpenTrace] makes of it again the text that the file trace had. For that it also
// reads, where they are, trace_options, current_tracer and trace_clock (or their lines
// in state.txt), saved_tgids, printk_formats and dynamic_events. What no file of the
// tracefs tells has lines of its own in state.txt: online_cpus, where those are not all
// that there are pages of; and, which [Moment] makes, time_start and latency_…, for the latency format, whose header also wants uname.txt; and "ptr_key: none", of a kernel so
// young that it printed (____ptrval____) for a pointer. With sym-userobj the files that a
// process had mapped are in maps.PID, a copy of its /proc/PID/maps.
//
//	t, err := capture.OpenTrace("cap", capture.Options{})
//	if err != nil { … }
//	defer t.Close()
//	err = t.SetOption("sym-offset")
//	err = t.WriteText(ctx, os.Stdout, -1)
//
// The kernel's files (the last two lines of the list and uname.txt) may also lie in a
// folder static beside it, in the folders above, or where Options.Kernel says.
//
// # Stack ids
//
// A kernel with a stackmap records <stack_id N> where others record a stack. Where its
// stack_map_bin or stack_map is in the folder, or Options.StackMap names one, each id
// becomes the kernel stack that it stands for: what that kernel would have recorded
// without the map. Its record keeps type and data, so that the kernel's own pages can
// still be written again. An id that the map lacks stays an event of type stack_id, and
// the caveats count them; Options.StackIDs leaves all as they are.
//
// # Damage
//
// What cannot be read ends the capture with an [Error] that names file and line or
// offset, or is passed over and counted with Options.KeepGoing. Input never panics.
//
// # Memory
//
// What a capture makes a reader hold is taken from Options.Memory before it is read or
// unpacked: kernel's files and tables made of them, windows of decompressors, chunks
// and pages of each CPU. What is too much is an error that says how much it would take.
// Text is read in pieces of fixed sizes.
//
// Files of a folder and of a kernel are regular files; a FIFO or a device among them is
// an error, and neither waited for nor read.
//
// # Kernel
//
// print_trace_fmt in kernel/trace/trace.c and trace_output.c for the text, enum
// trace_type and trace_entries.h for the records.
//
// # Left out
//
// Text of the function_graph tracer: it has durations, but not the times of the
// records nor their stacks, so a record could only be guessed; it is refused. Its raw
// pages are read, and [Trace] draws them again. Text with options latency-format, raw,
// hex, bin or without context-info. Folders of big-endian and 32-bit machines (a
// trace.dat of such a machine is translated). perf.data.
package capture
