package trigger

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ftracelab/tracer/event/filter"
)

// List holds the triggers of one event in one instance, the newest first. The
// zero List has none. It is not safe for concurrent use.
type List struct {
	triggers    []*Trigger
	conditional bool
}

// Len gives the number of triggers.
func (l *List) Len() int { return len(l.triggers) }

// All yields the triggers, the newest first.
func (l *List) All(yield func(*Trigger) bool) {
	for _, t := range l.triggers {
		if !yield(t) {
			return
		}
	}
}

// Show gives the lines of the triggers. The lines of the hists follow them, because a
// hist is always put after the other triggers.
//
// Kernel: trigger_show, kernel/trace/trace_events_trigger.c.
func (l *List) Show() string {
	var text strings.Builder
	for _, t := range l.triggers {
		text.WriteString(t.String() + "\n")
	}
	return text.String()
}

// Add adds a trigger. Errors: EEXIST if there is one already that excludes it.
//
// Kernel: register_trigger and event_enable_register_trigger,
// kernel/trace/trace_events_trigger.c.
func (l *List) Add(t *Trigger) error {
	if at := l.find(t); at >= 0 {
		return fmt.Errorf("trigger %s is there: %w", l.triggers[at], syscall.EEXIST)
	}
	l.triggers = slices.Insert(l.triggers, 0, t)
	l.update()
	return nil
}

// Remove removes the trigger that is like t, whatever its count and filter are, and
// returns it; nil if there is none.
//
// Kernel: try_unregister_trigger and event_enable_unregister_trigger,
// kernel/trace/trace_events_trigger.c.
func (l *List) Remove(t *Trigger) *Trigger {
	at := l.find(t)
	if at < 0 {
		return nil
	}
	found := l.triggers[at]
	l.triggers = slices.Delete(l.triggers, at, at+1)
	l.update()
	return found
}

// RemoveHistSwitches removes the enable_hist and disable_hist triggers and returns
// them. Opening the file with > does that, besides removing all hists.
//
// Kernel: hist_enable_unreg_all, kernel/trace/trace_events_hist.c.
func (l *List) RemoveHistSwitches() (gone []*Trigger) {
	l.triggers = slices.DeleteFunc(l.triggers, func(t *Trigger) bool {
		if commands[t.kind].class == histSwitches {
			gone = append(gone, t)
			return true
		}
		return false
	})
	l.update()
	return gone
}

func (l *List) find(t *Trigger) int {
	return slices.IndexFunc(l.triggers, func(other *Trigger) bool {
		return commands[other.kind].class == commands[t.kind].class && other.target == t.target
	})
}

// Kernel: update_cond_flag, kernel/trace/trace_events_trigger.c.
func (l *List) update() {
	l.conditional = slices.ContainsFunc(l.triggers, func(t *Trigger) bool {
		return t.filter != nil || commands[t.kind].post
	})
}

// Conditional reports whether the triggers wait for the record. If they do, use
// [List.Call], otherwise [List.CallAlways].
func (l *List) Conditional() bool { return l.conditional }

// CallAlways lets all triggers act.
func (l *List) CallAlways(a Actions) {
	for _, t := range l.triggers {
		t.fire(a)
	}
}

// Due is a set of kinds of triggers that still have to act, after the record.
type Due uint8

// Call lets the triggers act whose filter matches the record. It leaves out the triggers
// that act after the record, and returns which these are.
//
// Kernel: event_triggers_call, kernel/trace/trace_events_trigger.c.
func (l *List) Call(data []byte, ctx filter.Context, a Actions) Due {
	var due Due
	for _, t := range l.triggers {
		switch {
		case !t.filter.Match(data, ctx):
		case commands[t.kind].post:
			due |= 1 << commands[t.kind].class
		default:
			t.fire(a)
		}
	}
	return due
}

// CallDue lets the triggers act that Call has left out. It is called after the record.
//
// Kernel: event_triggers_post_call, kernel/trace/trace_events_trigger.c.
func (l *List) CallDue(due Due, a Actions) {
	if due == 0 {
		return
	}
	for _, t := range l.triggers {
		if due>>commands[t.kind].class&1 != 0 {
			t.fire(a)
		}
	}
}
