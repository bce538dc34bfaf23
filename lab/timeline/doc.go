// Package timeline reads a trace.dat into columns that can be drawn: when each event
// happened, on which CPU, and in which task.
//
// [Open] reads one buffer of the file: the first one that has events; [OpenBuffer] reads any
// other one, which may be that of an instance. The columns of a [Timeline] are in the order
// of time, and an event is named by its index in them. [Timeline.Columns] packs them for a
// page that draws them without asking for each event; [Timeline.Rows] gives the text of a few events,
// as trace-cmd report prints them, and [Timeline.Find] and [Timeline.Filter] look through
// all of them. [Timeline.Periods] says when a task ran and when it waited for a CPU.
//
// A file that is damaged is shown up to the damage, and [Info.Notes] names the place.
package timeline
