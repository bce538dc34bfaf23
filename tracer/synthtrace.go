package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/synth"
)

// With these methods a Go program can do with synthetic events what the kernel's own
// code can do: define one, record one, delete one. They are for use between two runs;
// a hook that calls them never comes back.

// SynthField is the type and the name of a field to define.
//
// Kernel: struct synth_field_desc, include/linux/trace_events.h.
type SynthField struct{ Type, Name string }

// maxSynthCommand bounds the length of a definition.
//
// Kernel: MAX_DYNEVENT_CMD_LEN, include/linux/trace_events.h.
const maxSynthCommand = 2048

// CreateSynthEvent defines a synthetic event. It returns the errors of
// synthetic_events, which error_log explains, and E2BIG for a definition that is too
// long.
//
// Kernel: synth_event_create, kernel/trace/trace_events_synth.c.
func (ft *Ftrace) CreateSynthEvent(name string, fields ...SynthField) error {
	var command strings.Builder
	command.WriteString(name)
	for _, f := range fields {
		fmt.Fprintf(&command, " %s %s;", f.Type, f.Name)
	}
	if command.Len() >= maxSynthCommand {
		return fmt.Errorf("synthetic event %q: %d bytes: %w", name, command.Len(), syscall.E2BIG)
	}
	return ft.top.locked(func() error { return ft.dyn.SynthCommand(command.String()) })
}

// DeleteSynthEvent deletes a synthetic event. It returns ENOENT if there is none, and
// EBUSY while it is enabled or something needs it.
//
// Kernel: synth_event_delete, kernel/trace/trace_events_synth.c.
func (ft *Ftrace) DeleteSynthEvent(name string) error {
	return ft.top.locked(func() error { return ft.dyn.DeleteSynth(name) })
}

// TraceSynthEvent records a synthetic event with one value for each field, in the
// order of the fields. Its task is the one that writes to trace_marker from outside.
// An event that is not enabled is not recorded; that is no error.
//
// It returns EINVAL if there is no such event, or if the number of values is not the
// number of fields; in the second case the record has no values.
//
// Kernel: trace_get_event_file, kernel/trace/trace_events.c; synth_event_trace_array,
// kernel/trace/trace_events_synth.c.
func (tr *Instance) TraceSynthEvent(name string, values ...synth.Value) error {
	return tr.locked(func() (err error) {
		e := tr.ft.dyn.FindSynth(name)
		if e == nil {
			return fmt.Errorf("there is no synthetic event %q: %w", name, syscall.EINVAL)
		}
		if !tr.events[e.Type().ID].enabled {
			return nil
		}
		if want := e.NumFields(); len(values) != want {
			err = fmt.Errorf("synthetic event %s: %d values, want %d: %w", name, len(values), want, syscall.EINVAL)
			values = nil
		}
		h := event.Common{Type: uint16(e.Type().ID), PID: int32(outsider.pid)}
		c := tr.ft.machine.CPUs()[writerCPU]
		tr.happen(&happening{Around: dynevent.Around{Outside: true}, cpu: c, ctx: contextOf(c), t: e.Type(), h: h, data: e.Append(nil, h, values)})
		tr.ft.cmdlines.SetComm(int32(outsider.pid), outsider.comm)
		return err
	})
}
