// Package timeline reads a trace.dat into columns that can be drawn: when each event
// happened, on which CPU, in which task, and in which buffer.
//
// [Open] reads all buffers of the file together, the top buffer and those of instances; an
// event says in which one it lies. A buffer with another clock is left out, because its times
// cannot be compared with the others, and [Info.Notes] says so; [OpenBuffer] reads a buffer
// alone. [Begin] and [Timeline.More] do the same piece by piece, so that the first events
// can be drawn while the others are still being read.
//
// The columns of a [Timeline] are in the order
// of time, and an event is named by its index in them. [Timeline.Columns] packs them for a
// page that draws them without asking for each event; [Timeline.Rows] gives the text of a few events,
// as trace-cmd report prints them, and [Timeline.Find] and [Timeline.Filter] look through
// all of them. [Timeline.Periods] says when a task ran and when it waited for a CPU.
//
// A file that is damaged is shown up to the damage, and [Info.Notes] names the place.
package timeline
