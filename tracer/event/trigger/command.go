package trigger

import (
	"strings"

	"ftracelab/tracer/event"
)

// kind is a command: its index in commands.
type kind uint8

const (
	traceOn kind = iota
	traceOff
	snapshot
	stacktrace
	enableEvent
	disableEvent
	enableHist
	disableHist
)

// class says which triggers exclude each other. An event has at most one trigger of each
// class; if the commands of the class name a target, it has at most one for each target.
//
// Kernel: enum event_trigger_type, include/linux/trace_events.h.
type class uint8

const (
	onOff class = iota
	snapshots
	stacks
	switches
	histSwitches
)

// commands are the kinds of triggers, in the order in which the file trigger lists
// them. [Hist], which that file lists last, is not among them.
//
// Kernel: register_trigger_cmds, kernel/trace/trace_events_trigger.c.
var commands = [...]struct {
	name   string
	class  class
	post   bool // the trigger acts after the record is made
	target bool // the command names another event
}{
	traceOn:      {name: "traceon", class: onOff},
	traceOff:     {name: "traceoff", class: onOff, post: true},
	snapshot:     {name: "snapshot", class: snapshots},
	stacktrace:   {name: "stacktrace", class: stacks, post: true},
	enableEvent:  {name: "enable_event", class: switches, target: true},
	disableEvent: {name: "disable_event", class: switches, target: true},
	enableHist:   {name: "enable_hist", class: histSwitches, target: true},
	disableHist:  {name: "disable_hist", class: histSwitches, target: true},
}

// Hist is the command that package hist reads, not [Parse].
const Hist = "hist"

// Available is the text of the file trigger of an event that has none.
//
// Kernel: trigger_show, kernel/trace/trace_events_trigger.c.
func Available() string {
	var text strings.Builder
	text.WriteString("# Available triggers:\n#")
	for k := range commands {
		text.WriteString(" " + commands[k].name)
	}
	return text.String() + " " + Hist + "\n"
}

// Actions is what triggers act on: their instance, at the moment of the event.
type Actions interface {
	Recording() bool
	SetRecording(on bool)
	// Snapshot exchanges the buffers.
	Snapshot()
	// Stack records the stack that led to the event.
	Stack()
	// SoftDisabled reports whether an event is enabled but kept from recording.
	SoftDisabled(t *event.Type) bool
	SoftDisable(t *event.Type, off bool)
	// PauseHists pauses the hists of an event; with off false it lets them go on.
	PauseHists(t *event.Type, off bool)
}

// fire lets a trigger act, unless its count is used up.
//
// Kernel: data_ops_trigger and the trigger functions of the commands,
// kernel/trace/trace_events_trigger.c.
func (t *Trigger) fire(a Actions) {
	if t.counted && !t.count(a) {
		return
	}
	switch t.kind {
	case traceOn, traceOff:
		if on := t.kind == traceOn; a.Recording() != on {
			a.SetRecording(on)
		}
	case snapshot:
		a.Snapshot()
	case stacktrace:
		a.Stack()
	case enableEvent, disableEvent:
		a.SoftDisable(t.target, t.kind == disableEvent)
	case enableHist, disableHist:
		a.PauseHists(t.target, t.kind == disableHist)
	}
}

// count takes one off the trigger's count and reports whether it may act. It takes
// nothing if there is nothing to do, because the state is already the one that the
// trigger would set; for hists it always takes one.
//
// Kernel: event_trigger_count and its kin,
// kernel/trace/trace_events_trigger.c.
func (t *Trigger) count(a Actions) bool {
	switch commands[t.kind].class {
	case onOff:
		if a.Recording() == (t.kind == traceOn) {
			return false
		}
	case switches:
		if a.SoftDisabled(t.target) == (t.kind == disableEvent) {
			return false
		}
	}
	if t.left == 0 {
		return false
	}
	if t.left != unlimited {
		t.left--
	}
	return true
}
