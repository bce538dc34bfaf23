package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
)

// eventProbe is what enable_event or disable_event does at the functions of one
// write: it switches an event. As long as a function has the command, the event is
// enabled softly.
//
// Kernel: struct event_probe_data, kernel/trace/trace_events.c.
type eventProbe struct {
	event  *event.Type
	enable bool
	count  int64 // how often it may still switch; -1: without limit
	refs   int   // functions that have it
}

// eventCommand is FUNCTIONS:enable_event:SYSTEM:EVENT[:COUNT] or disable_event.
//
// Kernel: event_enable_func, kernel/trace/trace_events.c.
func (tr *Instance) eventCommand(cmd *functionCommand, functions, param string, hasParam bool) error {
	system, rest, ok := strings.Cut(param, ":")
	if !hasParam || !ok {
		return fmt.Errorf("%s:%s: no event: %w", functions, cmd.name, syscall.EINVAL)
	}
	name, number, counted := strings.Cut(rest, ":")
	t := tr.switchableEvent(system, name)
	if t == nil {
		return fmt.Errorf("%s:%s: no event %s:%s: %w", functions, cmd.name, system, name, syscall.EINVAL)
	}
	if functions, out := strings.CutPrefix(functions, "!"); out {
		return tr.removeProbe(cmd, counted, functions)
	}
	e := &eventProbe{event: t, enable: cmd.name == "enable_event", count: -1}
	if counted {
		number, _, _ = strings.Cut(number, ":")
		n, err := tracefile.ParseUlong(number, 0)
		if err != nil {
			return fmt.Errorf("%s:%s: count %q: %w", functions, cmd.name, number, err)
		}
		e.count = int64(n)
	}
	tr.softEnableEvent(t, true)
	err := tr.addProbe(cmd, counted, functions, func() *probeData { e.refs++; return &probeData{event: e} })
	if err != nil {
		tr.softEnableEvent(t, false)
	}
	return err
}

// putEventProbe is called for each function that loses the command. After the last one
// the command no longer keeps the event enabled softly.
//
// Kernel: free_probe_data, kernel/trace/trace_events.c.
func (tr *Instance) putEventProbe(e *eventProbe) {
	e.refs--
	if e.refs == 0 {
		tr.softEnableEvent(e.event, false)
	}
}

// switchEvent switches the event if it is not in that state yet and the count allows
// it.
//
// Kernel: event_enable_count_probe, kernel/trace/trace_events.c.
func switchEvent(tr *Instance, _ *machine.CPU, d *probeData) {
	e := d.event
	off := &tr.events[e.event.ID].softDisabled
	if e.count == 0 || *off != e.enable {
		return
	}
	if e.count != -1 {
		e.count--
	}
	*off = !e.enable
}

// appendTo appends the command's parameter as set_ftrace_filter shows it.
//
// Kernel: event_enable_print, kernel/trace/trace_events.c.
func (e *eventProbe) appendTo(text []byte) []byte {
	text = fmt.Appendf(text, ":%s:%s", e.event.System, e.event.Name)
	if e.count == -1 {
		return append(text, ":unlimited\n"...)
	}
	return fmt.Appendf(text, ":count=%d\n", e.count)
}
