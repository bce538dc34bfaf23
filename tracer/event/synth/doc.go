// Package synth implements synthetic events: a user defines such an event, and
// only a histogram's action fires it, with values that the histogram has kept
// in variables.
//
//	wakeup_lat  u64 lat; pid_t pid; char comm[16]; unsigned long[] stack
//	└ name      └ fields: TYPE NAME, a semicolon between them
//
// [Parse] reads a line of synthetic_events, [ParseDynamic] one of
// dynamic_events ("s:[synthetic/]NAME FIELDS"). Both give a [Definition] or an
// [Error] with its column. From the definition come the lines of both files,
// the event type with its format file and print fmt ([Definition.NewType]), and
// a record of values ([Definition.Append]). Package hist decides which values
// an action may pass.
//
//	record:  common │ slots of 8 bytes, 32 of them for a char[N] │ strings and stacks of any length
//	         8      │ 8 × n                                      │ in the order of the fields
//	                  └ a field of that kind: length<<16 | offset ┘
//
// The text of a record does not come from the print fmt; package output makes it.
//
// Kernel: kernel/trace/trace_events_synth.c, trace_synth.h.
package synth
