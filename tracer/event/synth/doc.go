// Package synth is synthetic events: events that a user defines and that
// nothing fires but a histogram's action, with values it has kept in variables.
//
//	wakeup_lat  u64 lat; pid_t pid; char comm[16]; unsigned long[] stack
//	└ name      └ fields: TYPE NAME, a semicolon between them
//
// [Parse] reads a line of synthetic_events, [ParseDynamic] one of dynamic_events
// ("s:[synthetic/]NAME FIELDS"). Both give a [Definition] or an [Error] with its
// column. From the definition come the lines of both files, the event type with
// its format file and print fmt ([Definition.NewType]), and a record of values
// ([Definition.Append]). Which values an action may pass is in package hist.
//
//	record:  common │ slots of 8 bytes, 32 of them for a char[N] │ strings and stacks of any length
//	         8      │ 8 × n                                      │ in the order of the fields
//	                  └ a field of that kind: length<<16 | offset ┘
//
// What a record's text is does not come from the print fmt; it is in package output.
//
// Kernel: kernel/trace/trace_events_synth.c, trace_synth.h.
package synth
