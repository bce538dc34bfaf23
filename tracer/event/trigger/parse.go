package trigger

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// Trigger is one command of an event.
//
// Kernel: struct event_trigger_data, kernel/trace/trace.h.
type Trigger struct {
	kind    kind
	target  *event.Type // which event enable_event and disable_event switch
	counted bool        // the command says how often it may act
	left    int64
	filter  *filter.Filter
	cond    string // the filter's text
}

const unlimited = -1

// Target is the event that enable_event and disable_event switch; nil for other
// commands.
func (t *Trigger) Target() *event.Type { return t.target }

// TakesSnapshots reports whether the trigger needs a snapshot buffer.
func (t *Trigger) TakesSnapshots() bool { return t.kind == snapshot }

// String is the trigger's line: the command, how often it may still act, and the
// filter.
//
// Kernel: event_trigger_print and event_enable_trigger_print,
// kernel/trace/trace_events_trigger.c.
func (t *Trigger) String() string {
	var text strings.Builder
	text.WriteString(commands[t.kind].name)
	if t.target != nil {
		fmt.Fprintf(&text, ":%s:%s", t.target.System, t.target.Name)
	}
	if t.left == unlimited {
		text.WriteString(":unlimited")
	} else {
		fmt.Fprintf(&text, ":count=%d", t.left)
	}
	if t.cond != "" {
		text.WriteString(" if " + t.cond)
	}
	return text.String()
}

// Env is what a command needs to know when it is written.
type Env struct {
	Type   *event.Type // the event whose trigger it is
	Filter filter.Env
	// Event finds an event that can be switched, nil if there is none.
	Event func(system, name string) *event.Type
}

// maxText limits a command: it has to be shorter, in bytes.
const maxText = 4096

// Cut splits the name off a command. remove says that the command began with !.
//
// Errors: EINVAL for a text that is too long.
//
// Kernel: event_trigger_regex_write and trigger_process_regex,
// kernel/trace/trace_events_trigger.c.
func Cut(text string) (name, rest string, remove bool, err error) {
	if len(text) >= maxText {
		return "", "", false, fmt.Errorf("trigger of %d bytes: %w", len(text), syscall.EINVAL)
	}
	name, rest, _ = cutAny(filter.SkipSpace(filter.Command(text)), ": \t")
	name, remove = strings.CutPrefix(name, "!")
	return name, filter.SkipSpace(rest), remove, nil
}

// Parse reads a command of any kind but [Hist]. remove says that the command began with
// !, so that it removes the trigger that is like t.
//
// Errors wrap EINVAL, or ERANGE for a count that is too big. For a faulty filter the
// error is a *filter.Error, which goes to error_log.
//
// Kernel: event_trigger_parse and event_enable_trigger_parse, kernel/trace/trace_events_trigger.c.
func Parse(text string, env Env) (t *Trigger, remove bool, err error) {
	name, rest, remove, err := Cut(text)
	if err != nil {
		return nil, false, err
	}
	for k := range commands {
		if commands[k].name == name {
			t = &Trigger{kind: kind(k), left: unlimited}
		}
	}
	if t == nil {
		return nil, remove, fmt.Errorf("no trigger %q: %w", name, syscall.EINVAL)
	}
	count, cond, err := t.split(rest, env)
	if err != nil || remove {
		return t, remove, err
	}
	if t.counted {
		// A count is an unsigned number; the biggest one means no limit.
		number, _, _ := strings.Cut(count, ":")
		n, err := tracefile.ParseUlong(number, 0)
		if err != nil {
			return t, false, fmt.Errorf("trigger %s: %w", name, err)
		}
		t.left = int64(n)
	}
	if cond == "" {
		return t, false, nil
	}
	word, expression, found := cutAny(cond, " \t")
	if word != "if" || !found {
		return t, false, fmt.Errorf("trigger %s: %q is no filter: %w", name, cond, syscall.EINVAL)
	}
	t.filter, err = filter.Parse(env.Type, expression, env.Filter)
	t.cond = expression
	return t, false, err
}

// split splits what follows a command's name: the event that it names, how often it may
// act, and its filter.
//
// Kernel: event_trigger_separate_filter, kernel/trace/trace_events_trigger.c.
func (t *Trigger) split(rest string, env Env) (count, cond string, err error) {
	needs := commands[t.kind].target
	if !needs && (rest == "" || rest[0] < '0' || rest[0] > '9') {
		return "", rest, nil
	}
	count, cond, _ = cutAny(rest, " \t")
	cond = filter.SkipSpace(cond)
	if !needs {
		t.counted = true
		return count, cond, nil
	}
	system, name, pair := strings.Cut(count, ":")
	if !pair {
		return "", "", fmt.Errorf("trigger %s: no event: %w", commands[t.kind].name, syscall.EINVAL)
	}
	name, count, t.counted = strings.Cut(name, ":")
	if t.target = env.Event(system, name); t.target == nil {
		return "", "", fmt.Errorf("trigger %s: no event %s:%s: %w", commands[t.kind].name, system, name, syscall.EINVAL)
	}
	return count, cond, nil
}

// cutAny cuts s at the first of the bytes in seps.
func cutAny(s, seps string) (before, after string, found bool) {
	if n := strings.IndexAny(s, seps); n >= 0 {
		return s[:n], s[n+1:], true
	}
	return s, "", false
}
