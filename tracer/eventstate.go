package tracer

import (
	"syscall"

	"ftracelab/machine/klog"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/hist"
	"ftracelab/tracer/event/trigger"
)

// eventState is one event in one instance.
//
// An event that a trigger or a function command may switch is enabled softly: its
// tracepoint is on, and softDisabled keeps it from recording. It can then be switched
// from any context.
//
// Kernel: struct trace_event_file, include/linux/trace_events.h.
type eventState struct {
	enabled      bool // the tracepoint is on
	wasEnabled   bool // the tracepoint was on at some time
	softDisabled bool
	softRefs     int // how many keep it enabled softly
	filter       *filter.File
	triggers     trigger.List
	hists        *hist.File         // nil until it has one; see Instance.hists
	eprobes      []*dynevent.Eprobe // attached to the event
}

// records reports whether the event has hists, which keep its records, or eprobes,
// which make other records of them.
func (s *eventState) records() bool { return s.hists.Len() > 0 || len(s.eprobes) > 0 }

// softly reports whether somebody keeps the event enabled softly.
func (s *eventState) softly() bool { return s.softRefs > 0 }

// enableEvent switches one event of the instance by hand; it takes effect with the
// next call of changed. An error comes from what a dynamic event does when it is
// turned on.
//
// Kernel: __ftrace_event_enable_disable with soft_disable 0,
// kernel/trace/trace_events.c.
func (tr *Instance) enableEvent(t *event.Type, on bool) error {
	s := &tr.events[t.ID]
	switch {
	case on:
		if err := tr.turnOn(t); err != nil {
			return err
		}
		s.softDisabled = false
	case s.softly():
		s.softDisabled = true
	default:
		tr.turnOff(t)
		s.softDisabled = false
	}
	return nil
}

// turnOn turns the event's tracepoint on, if it is not.
func (tr *Instance) turnOn(t *event.Type) error {
	s := &tr.events[t.ID]
	if s.enabled {
		return nil
	}
	if err := tr.ft.switching(tr, t, true); err != nil {
		tr.ft.say(klog.Info, "event trace: Could not enable event "+t.Name)
		return err
	}
	s.enabled, s.wasEnabled = true, true
	return nil
}

// turnOff turns the event's tracepoint off, if it is on.
func (tr *Instance) turnOff(t *event.Type) {
	s := &tr.events[t.ID]
	if s.enabled {
		s.enabled = false
		_ = tr.ft.switching(tr, t, false) // an error is ignored; the kernel only warns
	}
}

// softEnableEvent keeps an event ready to be switched; with on false it ends that.
// The calls are counted.
//
// Kernel: __ftrace_event_enable_disable with soft_disable 1,
// kernel/trace/trace_events.c.
func (tr *Instance) softEnableEvent(t *event.Type, on bool) {
	s := &tr.events[t.ID]
	if on {
		s.softRefs++
		if s.softRefs == 1 && !s.enabled {
			s.softDisabled = true
			_ = tr.turnOn(t) // if this fails, the event stays off
		}
	} else {
		s.softRefs--
		if !s.softly() {
			if s.softDisabled {
				tr.turnOff(t)
			}
			s.softDisabled = false
		}
	}
	tr.ft.changed()
}

// enableFileOf is events/SYSTEM/EVENT/enable: 0 or 1, with a * while the event
// is enabled softly.
//
// Kernel: event_enable_read and event_enable_write,
// kernel/trace/trace_events.c.
func (tr *Instance) enableFileOf(t *event.Type) tracefile.Node {
	return tr.value("enable", 0o640, func() string {
		s := &tr.events[t.ID]
		text := "0"
		if s.enabled && !s.softDisabled {
			text = "1"
		}
		if s.softDisabled || s.softly() {
			text += "*"
		}
		return text + "\n"
	}, func(text string) error {
		n, err := tracefile.ParseUserUlong(text, 10)
		if err != nil {
			return err
		}
		if n > 1 {
			return tracefile.Errorf(syscall.EINVAL, "events/%s/%s/enable: %d is neither 0 nor 1", t.System, t.Name, n)
		}
		return tr.setEvent(t, n == 1)
	})
}
