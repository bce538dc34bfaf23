package tracer

import (
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/record"
	"ftracelab/workload/machine"
)

// This file is the way of every event: it happens on a CPU, in each instance its
// triggers act and its filter judges, and what is wanted is recorded with its stacks.
//
//	emitAs ─► happen ─► reserve, triggers, fill ─► record ─► stacks

// emitAs records v, an event of d that happens on c now, in every instance that has it
// enabled, and the stacks that belong to it. t is its type: d's own, or another one of
// d's class.
func emitAs[T any](ft *Ftrace, c *machine.CPU, d *event.Def[T], t *event.Type, v *T) {
	if !ft.listening[t.ID] {
		return
	}
	h := common(c)
	ft.scratch = d.Append(ft.scratch[:0], h, v)
	h.Type = uint16(t.ID)
	h.Put(ft.scratch)
	ft.emitBytes(c, t, h, ft.scratch)
}

// emitBytes is emitAs for a record that is already encoded.
func (ft *Ftrace) emitBytes(c *machine.CPU, t *event.Type, h event.Common, rec []byte) {
	for tr := range ft.all {
		if tr.events[t.ID].enabled {
			tr.happen(c, t, h, rec)
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
func (tr *Instance) happen(c *machine.CPU, t *event.Type, h event.Common, rec []byte) {
	s := &tr.events[t.ID]
	ctx := contextOf(c)
	if s.triggers.Len() == 0 && !s.records() {
		tr.recordWanted(c, ctx, t, h, rec)
		return
	}
	m, outer := &tr.moment, tr.moment
	*m = moment{Instance: tr, cpu: c, ctx: ctx, h: h, t: t}
	defer func() { *m = outer }()
	if !s.triggers.Conditional() && !s.records() {
		s.triggers.CallAlways(m)
		tr.recordWanted(c, ctx, t, h, rec)
		return
	}
	if tr.ignores(c, t) {
		return
	}
	// Room for the record is taken before the triggers act: what they switch on
	// comes too late for it, and a snapshot takes it along.
	room := tr.reserve(c, ctx, t, rec)
	due := s.triggers.Call(rec, filter.Context{CPU: c.ID, Comm: c.Current.Comm}, m)
	if s.hists.Len() > 0 {
		tr.callHists(m, s.hists, rec, tr.timeOf(&room, c.ID), c.Current.PID, c.Current.Comm)
	}
	for _, e := range s.eprobes {
		e.Fire(c, h, rec)
	}
	tr.fill(&room, tr.wanted(c, t, rec), c, ctx, t, h, rec)
	s.triggers.CallDue(due, m)
}

// recordWanted records an event that no trigger waits for.
func (tr *Instance) recordWanted(c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common, rec []byte) {
	switch {
	case tr.wanted(c, t, rec):
		if tr.records(c) {
			tr.record(tr.rec, c, ctx, t, h, rec)
		}
	case tr.unbuffered > 0 && !tr.events[t.ID].softDisabled && !tr.ignores(c, t):
		room := tr.reserve(c, ctx, t, rec)
		tr.fill(&room, false, c, ctx, t, h, rec)
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
func (tr *Instance) reserve(c *machine.CPU, ctx ringbuf.Context, t *event.Type, rec []byte) room {
	s := &tr.events[t.ID]
	r := room{none: !tr.records(c), swaps: tr.snap.taken}
	droppable := s.softDisabled || s.filter != nil && s.filter.Filter() != nil
	if r.none || tr.snap.allocated || droppable && tr.unbuffered == 0 {
		return r
	}
	var err error
	if r.slot, err = tr.rec.Open(c.ID, ctx, len(rec)); err != nil {
		r.none = true
		return r
	}
	r.slot.Fill(rec)
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
func (tr *Instance) fill(r *room, wanted bool, c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common, rec []byte) {
	switch {
	case r.none:
	case r.slot.IsOpen() && wanted:
		r.slot.Commit()
		tr.afterRecord(tr.rec, c, ctx, t, h)
	case r.slot.IsOpen():
		r.slot.Discard()
	case wanted:
		tr.record(tr.recorderAt(r.swaps), c, ctx, t, h, rec)
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
func (tr *Instance) record(w *record.Recorder, c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common, rec []byte) {
	if w.Event(c.ID, ctx, rec) == nil {
		tr.afterRecord(w, c, ctx, t, h)
	}
}

// afterRecord notes the task's name and records the stacks that belong to an event.
func (tr *Instance) afterRecord(w *record.Recorder, c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common) {
	tr.ft.recorded[c.ID] = true
	tr.ft.remember(c.Current)
	tr.stacks(w, c, ctx, t, h)
}
