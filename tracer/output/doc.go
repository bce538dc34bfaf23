// Package output prints the trace file: it merges the ring buffers of all CPUs
// by time and turns binary records into the kernel's text, byte for byte.
//
//	per_cpu/cpu0 ─┐          ┌── Merge ──┐  Entry   ┌───────── Printer ─────────┐
//	per_cpu/cpu1 ─┼─ Reader ─┤ earliest  ├─────────►│ lost? started? context    │
//	     …       ─┘          │ first     │          │ + text of the record      │──► trace
//	                         └───────────┘          └───────────────────────────┘
//	                                                  events  event.Type
//	                                                  graph   fgraph.Text
//	                                                  ftrace  function, stacks, print …
//
// A line of the default form:
//
//	          bash-157     [000] d..2.     7.253439: sched_stat_runtime: comm=bash pid=157 …
//	└── comm ──┘ └─pid─┘   │     │││││     └ seconds.microseconds, rounded
//	                      CPU    ││││└ migrate-disable
//	                             │││└ preempt-depth
//	                             ││└ hardirq/softirq
//	                             │└ need-resched
//	                             └ irqs-off/BH-disabled
//
// See the example of [Printer]. [New] makes a [Printer] for one reading of one file; [Printer.AppendHeader]
// and then [Printer.AppendNext], until there is no more, append the text to a
// buffer the caller reuses. Nothing is allocated per line.
//
// The forms raw, hex, bin, fields, verbose and latency-format are values of
// [Options], as in trace_options.
//
// Kernel: kernel/trace/trace_output.c and print_trace_line with its kin in
// kernel/trace/trace.c.
//
// Left out is what a print format refers to and no format file tells: the values of
// enum constants, and functions of the kernel.
package output
