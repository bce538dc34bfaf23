//lint:file-ignore U1000 the parser and the map that use them are being written

package hist

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// Env is what the triggers of an instance need of it.
type Env interface {
	// Event finds an event, nil if there is none.
	Event(system, name string) *event.Type
	// Synth finds a synthetic event, nil if there is none; SynthOf is the one whose
	// records are of type t.
	Synth(name string) SynthEvent
	SynthOf(t *event.Type) SynthEvent
	Filter() filter.Env
	// LogError appends to error_log.
	LogError(location, message, command string, pos int)
	// LogFilter appends a filter's fault to error_log.
	LogFilter(err error)
	// SetClock sets trace_clock. Errors: EINVAL if there is none of that name.
	SetClock(name string) error
	// ClockInNs says whether the clock counts nanoseconds.
	ClockInNs() bool
	// AbsoluteStamps is called with true for each trigger that reads time stamps,
	// and with false when it goes.
	AbsoluteStamps(on bool)
	// Enable is called with true for each trigger put to an event, so that it
	// happens without being recorded, and with false when the trigger goes.
	Enable(t *event.Type, on bool)
	// ArmSnapshot makes ready for Snapshot. Errors: EBUSY while a latency tracer
	// uses the buffer, ENOMEM.
	ArmSnapshot() error
	DisarmSnapshot()
	// Snapshot exchanges the buffers if take, asked when nothing hinders it, says so.
	Snapshot(m *Moment, take func() bool)
}

// Registry holds what the triggers of all instances share: their names.
//
// Kernel: named_triggers, kernel/trace/trace_events_trigger.c.
type Registry struct{ named []*Trigger }

// Instance holds the hist triggers of one instance. It is not safe for
// concurrent use.
type Instance struct {
	env      Env
	registry *Registry
	files    map[*event.Type]*File
	vars     []*Hist // those with variables or references, the newest first
	snapshot *trackedSnapshot
	command  string // the latest command, for columns: errors of hidden triggers show it too
	location string
}

// File holds the hist triggers of one event, the oldest first.
type File struct {
	instance *Instance
	typ      *event.Type
	triggers []*Trigger
}

// trackedSnapshot is what the conditional snapshot of an instance remembers of
// the element that it was taken for.
//
// Kernel: struct track_data, kernel/trace/trace_events_hist.c.
type trackedSnapshot struct {
	hist    *Hist
	action  *action
	value   uint64
	updated bool
	key     []byte
	comm    string
}
