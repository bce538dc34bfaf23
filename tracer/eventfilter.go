package tracer

import (
	"errors"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// filterOf returns the filter of an event in this instance.
func (tr *Instance) filterOf(t *event.Type) *filter.File {
	s := &tr.events[t.ID]
	if s.filter == nil {
		s.filter = new(filter.File)
	}
	return s.filter
}

// wanted reports whether an event should be recorded: it is not disabled softly, its
// task is not ignored, and its filter lets it through.
//
// Kernel: __event_trigger_test_discard, kernel/trace/trace.c.
func (tr *Instance) wanted(e *happening) bool {
	s := &tr.events[e.t.ID]
	if s.softDisabled || tr.ignores(e) {
		return false
	}
	return s.filter == nil || s.filter.Filter().Match(e.data, tr.ft.dyn.Asked(e.cpu))
}

// filterEnv returns what a filter may look up when it is written.
func (tr *Instance) filterEnv() filter.Env {
	return filter.Env{CPUs: tr.buf.CPUs(), Symbols: symbols{tr.ft.machine.Kallsyms()}}
}

// symbols is kallsyms that also finds the address of a name.
type symbols struct{ *machine.Kallsyms }

func (s symbols) Address(name string) (uint64, bool) {
	sym, ok := s.ByName(name)
	return sym.Addr, ok
}

// eventFilterFile is events/SYSTEM/EVENT/filter.
//
// Kernel: event_filter_write, kernel/trace/trace_events.c.
func (tr *Instance) eventFilterFile(t *event.Type) tracefile.Node {
	return tr.value("filter", 0o640,
		func() string { return tr.filterOf(t).Show() },
		func(s string) error {
			err := tr.filterOf(t).Write(t, s, tr.filterEnv())
			var fault *filter.Error
			if errors.As(err, &fault) {
				tr.logFilterFault(fault)
			}
			return err
		})
}

// systemFilterFile is events/SYSTEM/filter. A write applies to all events of the
// system that have the fields.
//
// Kernel: subsystem_filter_write, kernel/trace/trace_events.c.
func (tr *Instance) systemFilterFile(system string) tracefile.Node {
	return tr.value("filter", 0o640,
		func() string { return filter.SystemText },
		func(s string) error {
			var members []filter.Member
			for _, t := range tr.types {
				if t.System != system {
					continue
				}
				members = append(members, filter.Member{Type: t, File: tr.filterOf(t)})
			}
			faults, err := filter.WriteSystem(members, s, tr.filterEnv())
			for _, fault := range faults {
				tr.logFilterFault(fault)
			}
			return err
		})
}

// logFilterFault puts a fault into error_log.
func (tr *Instance) logFilterFault(fault *filter.Error) {
	tr.errors.add(errorEntry{
		ns: tr.ft.machine.Now(), location: filter.Location,
		message: fault.Msg, command: fault.Command, pos: fault.Pos,
	})
}
