package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracer/event"
)

// setEvent handles a write to an event's enable file.
//
// Kernel: event_enable_write, kernel/trace/trace_events.c.
func (tr *Instance) setEvent(t *event.Type, on bool) error {
	if err := tr.expand(); err != nil {
		return err
	}
	err := tr.enableEvent(t, on)
	tr.ft.changed()
	return err
}

// disableAllEvents does what opening set_event with > does.
//
// Kernel: ftrace_clear_events, kernel/trace/trace_events.c.
func (tr *Instance) disableAllEvents() {
	for _, t := range tr.types {
		if switchable(t) {
			_ = tr.enableEvent(t, false) // switching off does not fail
		}
	}
	tr.ft.changed()
}

// switchable reports whether t may be enabled by hand. The ftrace system holds
// the tracers' own records: their folders have no enable file.
func switchable(t *event.Type) bool { return t.System != "ftrace" }

// setEvents enables or disables every event that system and name select; an empty
// string selects all. It returns EINVAL if they select no event; otherwise it returns
// the first error of an event that could not be switched.
//
// Kernel: __ftrace_set_clr_event_nolock, kernel/trace/trace_events.c.
func (tr *Instance) setEvents(system, name string, on bool) error {
	if err := tr.expand(); err != nil {
		return err
	}
	found := false
	var failed error
	for _, t := range tr.types {
		if !switchable(t) || system != "" && t.System != system || name != "" && t.Name != name {
			continue
		}
		if err := tr.enableEvent(t, on); err != nil && failed == nil {
			failed = err
		}
		found = true
	}
	tr.ft.changed()
	if !found {
		return fmt.Errorf("no event %s:%s: %w", system, name, syscall.EINVAL)
	}
	return failed
}

// setEventWord carries out one word written to set_event: SYSTEM:EVENT, SYSTEM:*,
// SYSTEM: or a bare name, which is a system or an event; a leading ! disables.
//
// Kernel: ftrace_set_clr_event, kernel/trace/trace_events.c.
func (tr *Instance) setEventWord(word string) error {
	word, off := strings.CutPrefix(word, "!")
	system, name, pair := strings.Cut(word, ":")
	if pair {
		return tr.setEvents(wildcard(system), wildcard(name), !off)
	}
	if wildcard(word) == "" {
		return tr.setEvents("", "", !off)
	}
	// A bare name selects the events of that name and the system of that name.
	found := false
	var failed error
	for _, t := range tr.types {
		if switchable(t) && (t.System == word || t.Name == word) {
			if err := tr.enableEvent(t, !off); err != nil && failed == nil {
				failed = err
			}
			found = true
		}
	}
	tr.ft.changed()
	if !found {
		return fmt.Errorf("set_event: no system or event %q: %w", word, syscall.EINVAL)
	}
	return failed
}

func wildcard(s string) string {
	if s == "*" {
		return ""
	}
	return s
}

// showSetEvent returns the text of set_event: the events that are enabled, even if
// only softly.
func (tr *Instance) showSetEvent() string {
	var text strings.Builder
	for _, t := range tr.types {
		if tr.events[t.ID].enabled && switchable(t) {
			fmt.Fprintf(&text, "%s:%s\n", t.System, t.Name)
		}
	}
	return text.String()
}

// showAvailableEvents is the text of available_events.
func (ft *Ftrace) showAvailableEvents() string {
	var text strings.Builder
	for _, t := range ft.top.types {
		if switchable(t) {
			fmt.Fprintf(&text, "%s:%s\n", t.System, t.Name)
		}
	}
	return text.String()
}

// state returns what the enable file of a set of events shows: 0 or 1, X if only some
// are enabled, ? if the set is empty.
//
// Kernel: system_enable_read, kernel/trace/trace_events.c.
func (tr *Instance) state(system string) string {
	on, off := false, false
	for _, t := range tr.types {
		if switchable(t) && (system == "" || t.System == system) {
			on, off = on || tr.events[t.ID].enabled, off || !tr.events[t.ID].enabled
		}
	}
	switch {
	case on && off:
		return "X\n"
	case on:
		return "1\n"
	case off:
		return "0\n"
	}
	return "?\n"
}
