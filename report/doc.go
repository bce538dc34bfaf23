// Package report says what a design of the stack records would save on a given
// trace, in bytes, in events and in seconds.
//
// A [record.Source] (a real capture, or the tracers of a simulated machine) is read
// once. Each of its records is written once for each design, through a real ring buffer
// into sub-buffers in the kernel's own format, and the bytes are counted there:
//
//	               ┌─ census: unique stacks, growth, depths, a sweep over bits
//	source ─ batch ┼─ full-stacks ── ring ── pages ─┐ decoded and counted again;
//	               ├─ stackmap    ── ring ── pages ─┤ ledger and count must agree,
//	               └─ no-stacks   ── ring ── pages ─┘ or Estimate fails
//
// The figures never come from a formula. [ringbuf.Buffer.Ledger] says where the writer
// has put each byte, and [ringbuf.ReadPageImage] says what a reader finds. If the
// capture has the pages of its kernel, these are re-created, independently of the
// designs, and compared byte for byte: see [Verification].
//
// Every figure has a [Basis], which says whether it is measured in the trace
// itself, replayed, extrapolated or assumed.
//
// A capture can be kept as a small summary ([Options].Summary), and from the summaries
// of many machines [EstimateFleet] answers for all of them.
//
// Start at [Estimate]; [Report] is the schema of the JSON output; the sub-package
// html draws it.
//
// # What a trace does not tell
//
// A design with deferred user stacks writes one for each stay in the kernel, but a trace
// rarely shows where a stay ends. The figures of such a design count the fewest stays
// that the trace allows; [DeferredUse] has the bounds between which the truth lies.
//
// # Words
//
// An event is a primary event, to which a stack may belong; the record of the stack is
// not an event of its own here. An event's bytes are those of its record and of its
// stack's records together. They include headers and time extends, but not the headers
// and tails of sub-buffers. Retained is what a buffer of a given size still holds at
// the end of the trace. The memory of a map counts against its design.
//
// # Kernel
//
// kernel/trace/ring_buffer.c and __ftrace_trace_stack in kernel/trace/trace.c;
// the stackmap patches (RFC, not merged) and the deferred user stacks of ftrace
// (RFC, not merged).
//
// # Left out
//
// The report is about room, so it does not say how much time a design takes; [Work] only
// counts what the CPUs do. Nor does it look at the compression of trace files, which
// finds much of the same redundancy, but only after the buffer.
package report
