// Package trigger is what an event does when it happens, besides being
// recorded: the commands written to events/SYSTEM/EVENT/trigger.
//
//	traceoff:1 if prev_pid == 7
//	enable_event:irq:softirq_entry:3
//	!stacktrace
//
// A command takes how often it may act and a filter of the event's records; a
// leading ! takes it away. The package reads the text ([Parse]), keeps the
// triggers of one event ([List]), and decides which of them act when; what
// acting means is its user's ([Actions]).
//
// When a trigger acts depends on all triggers of the event. If none of them
// looks at the record or has to come after it, all act before the event is
// recorded, and even if it is not. One with a filter, or one that comes after
// (traceoff, stacktrace), makes all of them wait until the record is made.
//
// Kernel: kernel/trace/trace_events_trigger.c.
package trigger
