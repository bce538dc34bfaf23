package filter

import (
	"errors"
	"fmt"
	"syscall"

	"ftracelab/tracer/event"
)

// File is events/SYSTEM/EVENT/filter of one instance. The zero File has no
// filter. It is not safe for concurrent use.
type File struct {
	filter *Filter // in force; nil lets every record pass
	text   string  // that is shown; "" for "none"
}

// Filter is the filter in force, nil if there is none, as after a fault.
func (f *File) Filter() *Filter { return f.filter }

// Show is the file's text: the filter, the last faulty one with what is wrong
// with it, or "none".
//
// Kernel: print_event_filter, kernel/trace/trace_events_filter.c.
func (f *File) Show() string {
	switch {
	case f.text == "":
		return "none\n"
	case len(f.text)+1 >= seqSize:
		return ""
	}
	return f.text + "\n"
}

// Write sets the filter for events of type t; "0" removes the filter. A faulty
// filter removes the previous one, too, and is shown instead.
//
// Errors: as of [Parse]; an *Error goes to error_log.
//
// Kernel: event_filter_write, kernel/trace/trace_events.c, and
// apply_event_filter, kernel/trace/trace_events_filter.c.
func (f *File) Write(t *event.Type, text string, env Env) error {
	if err := checkLength(text); err != nil {
		return err
	}
	if clears(text) {
		*f = File{}
		return nil
	}
	filter, err := Parse(t, text, env)
	var fault *Error
	if errors.As(err, &fault) {
		*f = File{text: fault.fileText()}
		return err
	}
	*f = File{filter: filter, text: filter.String()}
	return nil
}

// clears reports whether a text is 0, apart from blanks.
func clears(text string) bool {
	return SkipSpace(Command(text)) == "0"
}

// SystemText is what events/SYSTEM/filter reads at any time.
//
// Kernel: DEFAULT_SYS_FILTER_MESSAGE, kernel/trace/trace_events_filter.c. A
// system with events never gets to the error message that the text speaks of.
const SystemText = "### global filter ###\n" +
	"# Use this to set filters for multiple events.\n" +
	"# Only events with the given fields will be affected.\n" +
	"# If no events are modified, an error message will be displayed here\n"

// Member is an event of a system.
type Member struct {
	Type *event.Type
	File *File
}

// WriteSystem does what a write to events/SYSTEM/filter does to the system's
// events, which are in the kernel's order: it sets the filter for those that
// have the fields. The other events lose their filters, and whatever the fault
// is, their files show it as a missing field. "0" removes all filters.
//
// faults has one entry for each of those others and goes to error_log; faults
// alone do not make the write fail. Errors: ENODEV without events, EINVAL for
// 4096 bytes or more.
//
// Kernel: subsystem_filter_write, kernel/trace/trace_events.c, and
// process_system_preds, kernel/trace/trace_events_filter.c.
func WriteSystem(members []Member, text string, env Env) (faults []*Error, err error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("filter of a system without events: %w", syscall.ENODEV)
	}
	for _, m := range members {
		var fault *Error
		if err := m.File.Write(m.Type, text, env); errors.As(err, &fault) {
			fault.Msg, fault.Pos = msgBadSubsysFilter, 0
			m.File.text = fault.fileText()
			faults = append(faults, fault)
		}
	}
	return faults, nil
}
