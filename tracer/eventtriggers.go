package tracer

import (
	"errors"

	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/trigger"
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
)

// triggerFile is events/SYSTEM/EVENT/trigger. Each write is one command; opening the
// file with > removes the hists and the triggers that switch hists.
//
// Kernel: event_trigger_fops and event_trigger_regex_open,
// kernel/trace/trace_events_trigger.c.
func (tr *Instance) triggerFile(t *event.Type) tracefile.Node {
	return tr.seq("trigger", 0o640, func() ([]byte, error) { return tr.showTriggers(t), nil }).
		OnTrunc(func() error { return tr.locked(func() error { tr.dropHists(t); return nil }) }).
		OnWrite(func(p []byte) error { return tr.locked(func() error { return tr.writeTrigger(t, string(p)) }) })
}

// showTriggers returns the text of a trigger file. If the event has no triggers, that
// is the list of available commands. An eprobe on the event is a trigger that has no
// line; with it the list is not shown either.
func (tr *Instance) showTriggers(t *event.Type) []byte {
	s := &tr.events[t.ID]
	if s.triggers.Len() == 0 && !s.records() {
		return []byte(trigger.Available())
	}
	return s.hists.AppendLines([]byte(s.triggers.Show()))
}

func (tr *Instance) writeTrigger(t *event.Type, text string) error {
	if text == "" {
		return nil
	}
	name, rest, remove, err := trigger.Cut(text)
	if err == nil && name == trigger.Hist {
		return tr.hists.Command(t, rest, remove)
	}
	trig, remove, err := trigger.Parse(text, trigger.Env{Type: t, Filter: tr.filterEnv(), Event: tr.switchableEvent})
	var fault *filter.Error
	if errors.As(err, &fault) {
		tr.logFilterFault(fault)
	}
	switch {
	case err != nil:
		return err
	case remove:
		if found := tr.events[t.ID].triggers.Remove(trig); found != nil {
			tr.dropTrigger(t, found)
		}
		return nil
	}
	return tr.addTrigger(t, trig)
}

// switchableEvent finds an event that can be enabled by hand.
func (tr *Instance) switchableEvent(system, name string) *event.Type {
	if t := tr.ft.types.ByName(system, name); t != nil && switchable(t) {
		return t
	}
	return nil
}

// addTrigger adds a trigger to an event. The event is enabled softly, so that the
// trigger acts whether the event is recorded or not. If the trigger switches an
// event, that event is enabled softly as well.
//
// Kernel: register_trigger and register_snapshot_trigger,
// kernel/trace/trace_events_trigger.c.
func (tr *Instance) addTrigger(t *event.Type, trig *trigger.Trigger) error {
	if trig.TakesSnapshots() {
		if err := tr.armSnapshot(); err != nil {
			return err
		}
	}
	if err := tr.events[t.ID].triggers.Add(trig); err != nil {
		if trig.TakesSnapshots() {
			tr.disarmSnapshot()
		}
		return err
	}
	tr.softEnableEvent(t, true)
	if target := trig.Target(); target != nil {
		tr.ft.holdEvent(target)
		tr.softEnableEvent(target, true)
	}
	return nil
}

// dropTrigger undoes addTrigger for a trigger that was removed.
func (tr *Instance) dropTrigger(t *event.Type, trig *trigger.Trigger) {
	if trig.TakesSnapshots() {
		tr.disarmSnapshot()
	}
	tr.softEnableEvent(t, false)
	if target := trig.Target(); target != nil {
		tr.softEnableEvent(target, false)
		tr.ft.releaseEvent(target)
	}
}

// dropTriggers removes the triggers of all events.
//
// Kernel: clear_event_triggers, kernel/trace/trace_events_trigger.c.
func (tr *Instance) dropTriggers() {
	for _, t := range tr.types {
		list := &tr.events[t.ID].triggers
		for trig := range list.All {
			tr.dropTrigger(t, trig)
		}
		*list = trigger.List{}
		tr.events[t.ID].hists.Clear()
	}
}

// moment is what triggers act on: an instance while an event happens.
type moment struct {
	*Instance
	happening
}

func (m *moment) Recording() bool      { return m.buf.Recording() }
func (m *moment) SetRecording(on bool) { m.buf.SetRecording(on) }
func (m *moment) Snapshot()            { m.triggerSnapshot(m, nil) }

// Stack records the stack of the event, beginning in the function that makes its
// record.
//
// The kernel subtracts one from the preempt count, because tracepoints disable
// preemption. A write to trace_marker does not disable it, so the result is -1: all
// flags and all depths are set.
//
// Kernel: stacktrace_trigger, kernel/trace/trace_events_trigger.c;
// tracing_gen_ctx_dec, include/linux/trace_events.h.
func (m *moment) Stack() {
	h := m.h
	if m.t == events.Print.Type {
		m.stack.IPs = m.ft.markerStack(m.stack.IPs[:0])
		h.Flags, h.PreemptCount = 0xff, 0xff
	} else {
		m.stack.IPs = m.ft.eventStack(m.stack.IPs[:0], &m.happening)
	}
	m.kernelStack(m.rec, m.cpu, m.ctx, h)
}

func (m *moment) SoftDisabled(t *event.Type) bool     { return m.events[t.ID].softDisabled }
func (m *moment) SoftDisable(t *event.Type, off bool) { m.events[t.ID].softDisabled = off }

// PauseHists is hist_enable_trigger, kernel/trace/trace_events_hist.c.
func (m *moment) PauseHists(t *event.Type, off bool) { m.events[t.ID].hists.Pause(off) }

// triggerSnapshot takes a snapshot from within an event, or writes into the trace why
// it cannot. If take is not nil, it is called last and decides.
//
// Departure: while a hist trigger takes snapshots on a condition, snapshots without a
// condition are not taken; the kernel follows a null pointer there.
//
// Kernel: tracing_snapshot_instance_cond and update_max_tr, kernel/trace/trace.c.
func (tr *Instance) triggerSnapshot(m *moment, take func() bool) {
	switch {
	case m.ctx == ringbuf.NMI:
		tr.puts(m, "*** SNAPSHOT CALLED FROM NMI CONTEXT ***\n")
		tr.puts(m, "*** snapshot is being ignored        ***\n")
	case !tr.snap.allocated:
		tr.puts(m, "*** SNAPSHOT NOT ALLOCATED ***\n")
		tr.puts(m, "*** stopping trace here!   ***\n")
		tr.buf.SetRecording(false)
	case tr.current.MaxBuffer:
		tr.puts(m, "*** LATENCY TRACER ACTIVE ***\n")
		tr.puts(m, "*** Can not use snapshot (sorry) ***\n")
	case take == nil && tr.hists.TakesSnapshots():
	case take == nil || take():
		// This fails only while a buffer is being resized, and no event happens
		// during that.
		_ = tr.takeSnapshot(-1)
	}
}

// puts records a text of the kernel itself.
//
// Kernel: __trace_array_puts, kernel/trace/trace.c.
func (tr *Instance) puts(m *moment, text string) {
	if !tr.opts.Has(option.Printk) {
		return
	}
	s, _ := tr.ft.machine.Kallsyms().ByName("tracing_snapshot_instance_cond")
	rec := events.PrintRecord{IP: s.Addr, Buf: text}
	tr.rec.Nested(m.cpu.ID, func() {
		_ = record.Write(tr.rec, m.cpu.ID, m.ctx, events.Print, m.h, &rec) // the buffer counts what it refuses
	})
}
