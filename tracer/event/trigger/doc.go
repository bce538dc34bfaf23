// Package trigger implements event triggers: the commands in
// events/SYSTEM/EVENT/trigger, which say what happens at an event besides recording it.
//
//	traceoff:1 if prev_pid == 7
//	enable_event:irq:softirq_entry:3
//	!stacktrace
//
// A command may say how often it acts, and may have a filter for the event's records; a
// leading ! removes it. The package reads the text ([Parse]), keeps the triggers of one
// event ([List]), and decides which of them act, and when. What acting means is up to
// its user ([Actions]).
//
// When a trigger acts depends on all triggers of the event. If none of them looks at
// the record or has to act after it, all act before the event is recorded, and even if
// it is not recorded. A single trigger with a filter, or one that acts after the record
// (traceoff, stacktrace), makes all of them wait until the record is made.
//
// Kernel: kernel/trace/trace_events_trigger.c.
package trigger
