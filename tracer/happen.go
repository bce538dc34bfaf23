package tracer

import (
	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// This file is the path of every event. An event happens on a CPU. In each instance
// its triggers act and its filter decides; if the event is wanted, it is recorded
// with its stacks.
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
	// callers are return addresses of the kernel stack, innermost first, of functions that
	// the machine does not run; see kernelMessage.
	callers []uint64
}

// emitAs records v, an event of d that happens on c now, in every instance that has
// it enabled, together with the stacks that belong to it. t is its type: d's own, or
// another one of d's class.
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

// happen handles an event in one instance: its triggers act, and it is recorded if it
// is neither disabled softly nor stopped by a filter.
//
// Meanwhile a trigger may make a synthetic event happen, and the eprobes on the event
// make theirs happen. To the kernel, eprobes are triggers; like hists they follow the
// other triggers.
//
// Departure: eprobes follow the hists of their event; in the kernel hists and eprobes
// run in the order in which they were enabled.
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
	// Room for the record is taken before the triggers act. So what they switch on
	// comes too late for this record, and a snapshot includes the record.
	room := tr.reserve(e)
	due := s.triggers.Call(e.data, tr.ft.dyn.Asked(e.cpu), m)
	if s.hists.Len() > 0 {
		tr.callHists(m, s.hists, e.data, tr.timeOf(&room, e.cpu.ID), e.cpu.Current.PID, e.cpu.Current.Comm)
	}
	for _, p := range s.eprobes {
		p.Fire(e.cpu, e.h, e.data, e.Around)
	}
	tr.fill(&room, tr.wanted(e), e)
	s.triggers.CallDue(due, m)
}

// recordWanted records an event that no trigger waits for, if it is wanted.
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
	slot  record.Slot // if it is not open, the event is written when it is known to be wanted
	swaps uint64      // how many snapshots had been taken
}

// reserve takes room for a record in the buffer, so that what the event's triggers
// record follows it. A record that may be dropped gets its room only when it is known
// to be wanted, unless its time stamp in the buffer is needed before that; see
// keepUnbuffered.
//
// Departure: while the instance has a snapshot buffer, every record gets its room
// only when it is known to be wanted, because the buffers cannot be exchanged while
// an event is open.
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

// timeOf returns the time of an event: the buffer's stamp if the event has room
// there, otherwise the current time.
func (tr *Instance) timeOf(r *room, cpu int) uint64 {
	if r.slot.IsOpen() {
		return r.slot.Time()
	}
	return tr.now(cpu)
}

// fill records the event in the room that reserve took, or gives the room back.
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

// keepUnbuffered makes records take their room in the buffer even if they may be
// dropped; with on false it ends that. The calls are counted.
//
// Kernel: tracing_set_filter_buffering, kernel/trace/trace.c.
func (tr *Instance) keepUnbuffered(on bool) {
	if on {
		tr.unbuffered++
	} else {
		tr.unbuffered--
	}
}

// recorderAt returns the recorder of the buffer that was live when that many
// snapshots had been taken.
func (tr *Instance) recorderAt(swaps uint64) *record.Recorder {
	if (tr.snap.taken-swaps)&1 == 1 {
		return tr.snap.rec
	}
	return tr.rec
}

// record writes an event through w and then what belongs to it.
//
// Kernel: trace_buffer_unlock_commit_regs, kernel/trace/trace.c.
func (tr *Instance) record(w *record.Recorder, e *happening) {
	if w.Event(e.cpu.ID, e.ctx, e.data) == nil {
		tr.afterRecord(w, e)
	}
}

// afterRecord prints an event to the kernel's log if that is wanted, notes the task's name
// and records the stacks that belong to the event.
func (tr *Instance) afterRecord(w *record.Recorder, e *happening) {
	tr.printEvent(e)
	tr.ft.cmdlines.Recorded(e.cpu)
	tr.stacks(w, e)
}
