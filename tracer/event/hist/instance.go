package hist

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// Env is what the triggers of an instance need from the instance.
type Env interface {
	// Event finds an event, nil if there is none.
	Event(system, name string) *event.Type
	// Synth finds a synthetic event, nil if there is none; SynthOf finds the
	// one whose records are of type t.
	Synth(name string) SynthEvent
	SynthOf(t *event.Type) SynthEvent
	Filter() filter.Env
	// Syscall names a system call as events do, sys_read; not ok if there is none.
	Syscall(nr int) (name string, ok bool)
	// LogError appends to error_log.
	LogError(location, message, command string, pos int)
	// LogFilter appends a filter's fault to error_log.
	LogFilter(err error)
	// SetClock sets trace_clock. Errors: EINVAL if there is none of that name.
	SetClock(name string) error
	// ClockInNs reports whether the clock counts nanoseconds.
	ClockInNs() bool
	// AbsoluteStamps is called with true for each trigger that reads time stamps,
	// and with false when that trigger is removed.
	AbsoluteStamps(on bool)
	// Enable is called with true for each trigger that is put on an event, so
	// that the event happens even if it is not recorded, and with false when
	// the trigger is removed.
	Enable(t *event.Type, on bool)
	// ArmSnapshot prepares for Snapshot. Errors: EBUSY while a latency tracer
	// uses the buffer, ENOMEM.
	ArmSnapshot() error
	DisarmSnapshot()
	// Snapshot exchanges the buffers if take returns true; it calls take only
	// if nothing else prevents the exchange.
	Snapshot(m *Moment, take func() bool)
}

// Instance holds the hist triggers of one instance. It is not safe for
// concurrent use.
type Instance struct {
	env      Env
	registry *Registry
	files    map[*event.Type]*File
	vars     []*Hist // the hists with variables or references, the newest first
	snapshot *trackedSnapshot
	command  string // the latest command, for columns; errors of hidden triggers also show it
	location string
}

// NewInstance makes an instance without triggers; all instances share names.
func NewInstance(env Env, names *Registry) *Instance {
	return &Instance{env: env, registry: names, files: map[*event.Type]*File{}}
}

// File returns the triggers of an event.
func (in *Instance) File(t *event.Type) *File {
	f := in.files[t]
	if f == nil {
		f = &File{instance: in, typ: t}
		in.files[t] = f
	}
	return f
}

// Forget removes an event; it must not have triggers any more.
func (in *Instance) Forget(t *event.Type) { delete(in.files, t) }

// File holds the hist triggers of one event, the oldest first. A nil File has none.
type File struct {
	instance *Instance
	typ      *event.Type
	triggers []*Trigger
}

// Len returns how many triggers there are.
func (f *File) Len() int { return len(f.all()) }

// Hits is how many events the triggers have counted, in all their histograms.
//
// Kernel: get_hist_hit_count, kernel/trace/trace_events_hist.c.
func (f *File) Hits() (n uint64) {
	for _, t := range f.all() {
		n += t.hist.m.Hits()
	}
	return n
}

func (f *File) all() []*Trigger {
	if f == nil {
		return nil
	}
	return f.triggers
}
