package tracer

import (
	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/record"
)

// This file is the way of every event: it happens on a CPU, in each instance its
// triggers act and its filter judges, and what is wanted is recorded with its stacks.
//
//	emitAs ─► emit ─► happen ─► reserve, triggers, fill ─► record ─► stacks

// happening is an event that happens on a CPU.
//
// Kernel: struct trace_event_buffer, include/linux/trace_events.h.
type happening struct {
	dynevent.Around
	cpu  *machine.CPU
	ctx  ringbuf.Context
	t    *event.Type
	h    event.Common
	data []byte // the record
}

// emitAs records v, an event of d that happens on c now, in every instance that has it
// enabled, and the stacks that belong to it. t is its type: d's own, or another one of
// d's class.
func emitAs[T any](ft *Ftrace, c *machine.CPU, d *event.Def[T], t *event.Type, v *T, about *machine.Task) {
	if !ft.listening[t.ID] {
		return
	}
	h := common(c)
	ft.scratch = d.Append(ft.scratch[:0], h, v)
	h.Type = uint16(t.ID)
	h.Put(ft.scratch)
	ft.emit(&happening{Around: dynevent.Around{Task: about}, cpu: c, t: t, h: h, data: ft.scratch})
}

// emit makes an event happen in all instances that have it enabled.
func (ft *Ftrace) emit(e *happening) {
	e.ctx = contextOf(e.cpu)
	for tr := range ft.all {
		if tr.events[e.t.ID].enabled {
			tr.happen(e)
		}
	}
}

// happen is what becomes of an event in the instance: its triggers act, and it
// is recorded if it is neither disabled softly nor stopped by a filter.
//
// A trigger may let a synthetic event happen meanwhile, and so do the eprobes on it,
// which to the kernel are triggers, behind the others as hists are.
//
// Departure: eprobes come behind the hists of their event; in the kernel hists and
// eprobes come in the order in which they were enabled.
//
// Kernel: trace_trigger_soft_disabled, include/linux/trace_events.h, and
// trace_event_buffer_commit with __event_trigger_test_discard,
// kernel/trace/trace.c.
func (tr *Instance) happen(e *happening) {
	s := &tr.events[e.t.ID]
	if s.triggers.Len() == 0 && !s.records() {
		tr.recordWanted(e)
		return
	}
	m, outer := &tr.moment, tr.moment
	*m = moment{Instance: tr, happening: *e}
	defer func() { *m = outer }()
	if !s.triggers.Conditional() && !s.records() {
		s.triggers.CallAlways(m)
		tr.recordWanted(e)
		return
	}
	if tr.ignores(e) {
		return
	}
	// Room for the record is taken before the triggers act: what they switch on
	// comes too late for it, and a snapshot takes it along.
	room := tr.reserve(e)
	due := s.triggers.Call(e.data, filter.Context{CPU: e.cpu.ID, Comm: e.cpu.Current.Comm}, m)
	if s.hists.Len() > 0 {
		tr.callHists(m, s.hists, e.data, tr.timeOf(&room, e.cpu.ID), e.cpu.Current.PID, e.cpu.Current.Comm)
	}
	for _, p := range s.eprobes {
		p.Fire(e.cpu, e.h, e.data, e.Around)
	}
	tr.fill(&room, tr.wanted(e), e)
	s.triggers.CallDue(due, m)
}

// recordWanted records an event that no trigger waits for.
func (tr *Instance) recordWanted(e *happening) {
	switch {
	case tr.wanted(e):
		if tr.records(e.cpu) {
			tr.record(tr.rec, e)
		}
	case tr.unbuffered > 0 && !tr.events[e.t.ID].softDisabled && !tr.ignores(e):
		room := tr.reserve(e)
		tr.fill(&room, false, e)
	}
}

// room is where the record of an event will be.
type room struct {
	none  bool
	slot  record.Slot // closed: the event is written when its fate is known
	swaps uint64      // how many snapshots had been taken
}

// reserve takes room for a record in the buffer, so that what its triggers record
// comes behind it. A record that may be dropped is kept apart and takes its room
// when it is not: unless the buffer's stamps are wanted before.
//
// Departure: so is each record while the instance has a snapshot buffer, which
// cannot be exchanged while an event is open.
//
// Kernel: trace_event_buffer_lock_reserve, kernel/trace/trace.c.
func (tr *Instance) reserve(e *happening) room {
	s := &tr.events[e.t.ID]
	r := room{none: !tr.records(e.cpu), swaps: tr.snap.taken}
	droppable := s.softDisabled || s.filter != nil && s.filter.Filter() != nil
	if r.none || tr.snap.allocated || droppable && tr.unbuffered == 0 {
		return r
	}
	var err error
	if r.slot, err = tr.rec.Open(e.cpu.ID, e.ctx, len(e.data)); err != nil {
		r.none = true
		return r
	}
	r.slot.Fill(e.data)
	return r
}

// timeOf is the time of an event: that of the buffer, if it has its room there.
func (tr *Instance) timeOf(r *room, cpu int) uint64 {
	if r.slot.IsOpen() {
		return r.slot.Time()
	}
	return tr.now(cpu)
}

// fill records the event that there is room for, or gives the room back.
func (tr *Instance) fill(r *room, wanted bool, e *happening) {
	switch {
	case r.none:
	case r.slot.IsOpen() && wanted:
		r.slot.Commit()
		tr.afterRecord(tr.rec, e)
	case r.slot.IsOpen():
		r.slot.Discard()
	case wanted:
		tr.record(tr.recorderAt(r.swaps), e)
	}
}

// keepUnbuffered says that records take their room in the buffer also if they may
// be dropped; the calls are counted.
//
// Kernel: tracing_set_filter_buffering, kernel/trace/trace.c.
func (tr *Instance) keepUnbuffered(on bool) {
	if on {
		tr.unbuffered++
	} else {
		tr.unbuffered--
	}
}

// recorderAt writes to the buffer that was live when so many snapshots had been
// taken.
func (tr *Instance) recorderAt(swaps uint64) *record.Recorder {
	if (tr.snap.taken-swaps)&1 == 1 {
		return tr.snap.rec
	}
	return tr.rec
}

// record writes an event through w, and what comes after it.
//
// Kernel: trace_buffer_unlock_commit_regs, kernel/trace/trace.c.
func (tr *Instance) record(w *record.Recorder, e *happening) {
	if w.Event(e.cpu.ID, e.ctx, e.data) == nil {
		tr.afterRecord(w, e)
	}
}

// afterRecord notes the task's name and records the stacks that belong to an event.
func (tr *Instance) afterRecord(w *record.Recorder, e *happening) {
	tr.ft.cmdlines.Recorded(e.cpu)
	tr.stacks(w, e)
}
