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

// Len is how many triggers there are.
func (l *List) Len() int { return len(l.triggers) }

// All yields the triggers, the newest first.
func (l *List) All(yield func(*Trigger) bool) {
	for _, t := range l.triggers {
		if !yield(t) {
			return
		}
	}
}

// Show is the triggers' lines, which the hists' follow: these are always put behind
// the others.
//
// Kernel: trigger_show, kernel/trace/trace_events_trigger.c.
func (l *List) Show() string {
	var text strings.Builder
	for _, t := range l.triggers {
		text.WriteString(t.String() + "\n")
	}
	return text.String()
}

// Add puts a trigger to the others. Errors: EEXIST if there is one that it
// excludes.
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

// Remove takes away the trigger that is like t, whatever its count and filter,
// and returns it; nil if there is none.
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

// RemoveHistSwitches takes away what opening the file with > does, besides hists,
// and returns it.
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

// Conditional reports whether the triggers wait for the record: then [List.Call]
// is for them, and [List.CallAlways] if not.
func (l *List) Conditional() bool { return l.conditional }

// CallAlways lets all triggers act.
func (l *List) CallAlways(a Actions) {
	for _, t := range l.triggers {
		t.fire(a)
	}
}

// Due is a set of triggers that come after the record.
type Due uint8

// Call lets the triggers act that come before the record and whose filter lets
// it through, and says which come after.
//
// Kernel: event_triggers_call, kernel/trace/trace_events_trigger.c.
func (l *List) Call(rec []byte, ctx filter.Context, a Actions) Due {
	var due Due
	for _, t := range l.triggers {
		switch {
		case !t.filter.Match(rec, ctx):
		case commands[t.kind].post:
			due |= 1 << commands[t.kind].class
		default:
			t.fire(a)
		}
	}
	return due
}

// CallDue lets act what Call left for after the record.
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
