// Package report says what a design of the stack records would save on a given
// trace, in bytes, in events and in seconds.
//
// A [record.Source] (a real capture, or the tracers of a simulated machine) is
// read once. Every record of it is written once for each design, through a real
// ring buffer into sub-buffers in the kernel's own format, and the bytes are
// counted where they lie:
//
//	               ┌─ census: unique stacks, growth, depths, a sweep over bits
//	source ─ batch ┼─ full-stacks ── ring ── pages ─┐ decoded and counted again;
//	               ├─ stackmap    ── ring ── pages ─┤ ledger and count must agree,
//	               └─ no-stacks   ── ring ── pages ─┘ or Estimate fails
//
// What is counted is never a formula: [ringbuf.Buffer.Ledger] says where the
// writer put each byte, [ringbuf.ReadPageImage] says what a reader finds, and
// where the capture has the pages of the kernel it came from, they are re-created,
// apart from the designs, and compared byte for byte: see [Verification].
//
// Every figure has a [Basis], which says whether it is measured in the trace
// itself, replayed, extrapolated or assumed.
//
// Start at [Estimate]; [Report] is the schema of the JSON output; the sub-package
// html draws it.
//
// # Words
//
// An event is a primary event, to which a stack may belong; the record of the
// stack is not an event of its own here. An event's bytes are those of its
// record and of its stack's records together. They include headers and time
// extends, but not the headers and tails of sub-buffers. Retained is what a
// buffer of a given size still holds when the trace ends. The memory of a map
// counts against its design.
//
// # Kernel
//
// kernel/trace/ring_buffer.c and __ftrace_trace_stack in kernel/trace/trace.c;
// the stackmap patches (RFC, not merged) and the deferred user stacks of ftrace
// (RFC, not merged).
//
// # Left out
//
// The time a design takes: the report is about room. Compression of a trace file,
// which finds much of the same redundancy after the fact, but not in the buffer.
package report
