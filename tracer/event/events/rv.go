package events

import "ftracelab/tracer/event"

// rvTypes are the events of the system rv: those of the monitor wwnr.
//
// Kernel: include/trace/events/rv.h.
func rvTypes() []*event.Type { return []*event.Type{ErrorWwnr.Type, EventWwnr.Type} }

// ErrorWwnrRecord is an event that a task's model does not allow in its present state.
type ErrorWwnrRecord struct {
	ID    int32  `c:"int id"` // the task's pid
	State string `c:"__data_loc char[] state"`
	Event string `c:"__data_loc char[] event"`
}

// ErrorWwnr is rv:error_wwnr.
var ErrorWwnr = event.Define[ErrorWwnrRecord](1556, "rv", "error_wwnr",
	`"%d: event %s not expected in the state %s", REC->id, __get_str(event), __get_str(state)`)

// EventWwnrRecord is an event that takes a task's model to its next state.
type EventWwnrRecord struct {
	ID         int32  `c:"int id"`
	State      string `c:"__data_loc char[] state"`
	Event      string `c:"__data_loc char[] event"`
	NextState  string `c:"__data_loc char[] next_state"`
	FinalState bool   `c:"bool final_state"`
}

// EventWwnr is rv:event_wwnr.
var EventWwnr = event.Define[EventWwnrRecord](1557, "rv", "event_wwnr",
	`"%d: %s x %s -> %s%s", REC->id, __get_str(state), __get_str(event), __get_str(next_state), REC->final_state ? " (final)" : ""`)
