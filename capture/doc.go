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
// something. [Capture.Caveats] says what, and how far off the result can be:
//
//	        record sizes           times        CPU      frames        kernel | user
//	folder  as recorded            ns           yes      addresses     yes
//	ftrace  format + text          µs           yes      names mostly  yes
//	perf    24 bytes, assumed      as printed   may be   addresses     by their DSO
//	folded  24 bytes, assumed      none         no       names         marked _[k] or not
//
// If the weights of folded stacks add up to more than 2^20, all of them are divided by
// the same number. A stack then comes that many times less often, but at least once.
//
// A record that is made from text is binary like any other. It has the common header as
// far as the text tells it, then fields that are zero; its size follows from the
// event's format and the strings in the text. A stack that is made from text has no
// Data. A frame of which only the name is known gets an address that is made from the
// name and that neither the kernel nor a process uses; [Capture.Symbol] gives the text
// back.
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
// [OpenTrace] makes the text of the file trace from such a folder. If they are there,
// it also reads trace_options, current_tracer and trace_clock (or their lines in
// state.txt), saved_tgids, printk_formats and dynamic_events. Some things no file of
// the tracefs tells; they have lines of their own in state.txt. online_cpus is needed
// if there are pages of CPUs that were offline. time_start and latency_…, which
// [Moment] writes, are for the latency format, whose header also needs uname.txt.
// "ptr_key: none" says that the kernel had just booted and printed (____ptrval____) for
// every pointer. For sym-userobj, maps.PID is a copy of /proc/PID/maps, which tells the
// files that a process had mapped.
//
//	t, err := capture.OpenTrace("cap", capture.Options{})
//	if err != nil { … }
//	defer t.Close()
//	err = t.SetOption("sym-offset")
//	err = t.WriteText(ctx, os.Stdout, -1)
//
// The kernel's files (the last two lines of the list, and uname.txt) may also lie in a
// folder called static beside the pages, in the folders above, or where Options.Kernel
// says.
//
// # Stack ids
//
// A kernel with a stackmap records <stack_id N> where others record a stack. If
// stack_map_bin or stack_map is in the folder, or Options.StackMap names one, each id
// becomes the kernel stack that it stands for, which is what that kernel would have
// recorded without the map. The record keeps its type and its data, so that the
// kernel's own pages can still be written again. An id that the map does not have stays
// an event of type stack_id, and the caveats count these. Options.StackIDs leaves all
// ids as they are.
//
// # Damage
//
// Where something cannot be read, the capture ends with an [Error] that names the file
// and the line or offset. With Options.KeepGoing it is passed over and counted instead.
// No input makes this package panic.
//
// # Memory
//
// Before something is read or unpacked whose size the capture decides, its memory is
// taken from Options.Memory: the kernel's files and the tables made from them, the
// windows of decompressors, the chunks and pages of each CPU. If that is too much, the
// error says how much it would take. Text is read in pieces of fixed sizes.
//
// The files of a folder and of a kernel have to be regular files. A FIFO or a device
// among them is an error; it is neither waited for nor read.
//
// # Kernel
//
// print_trace_fmt in kernel/trace/trace.c and trace_output.c for the text; enum
// trace_type and trace_entries.h for the records.
//
// # Left out
//
// Text of the function_graph tracer is refused. It has durations, but neither the times
// of the records nor their stacks, so a record could only be guessed. That tracer's raw
// pages are read, and [Trace] draws the graph from them. Also left out are text with
// the options latency-format, raw, hex or bin or without context-info, folders of
// big-endian and 32-bit machines (a trace.dat of such a machine is translated), and
// perf.data.
package capture
