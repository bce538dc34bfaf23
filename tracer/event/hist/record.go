package hist

import (
	"encoding/binary"

	"ftracelab/tracer/event/filter"
)

// padsMax is how deep hists may be nested: an action generates a synthetic
// event that has hists itself, and so on. The kernel has as many pads for each
// CPU.
//
// Kernel: MAX_HIST_CNT, kernel/trace/trace_events_hist.c.
const padsMax = 4

// pad is the working memory of a hist while its event happens.
//
// Kernel: struct hist_pad, kernel/trace/trace_events_hist.c.
type pad struct {
	key   [keySizeMax]byte
	stack [64]uint64
}

// Happen counts an event in the hists that are not paused and whose filter lets
// the record through.
//
// Kernel: event_triggers_call, kernel/trace/trace_events_trigger.c.
func (f *File) Happen(m *Moment, ctx filter.Context) {
	for _, t := range f.all() {
		if !t.paused && t.filter.Match(m.Rec, ctx) {
			t.record(m)
		}
	}
}

// record counts an event and lets the actions act.
//
// Kernel: event_hist_trigger, kernel/trace/trace_events_hist.c.
func (t *Trigger) record(m *Moment) {
	h := t.hist
	r := h.file.instance.registry
	if r.nested == padsMax {
		return
	}
	p := &r.pads[r.nested]
	r.nested++
	defer func() { r.nested-- }()

	key := h.key(p, m)
	if len(h.refs) > 0 && !h.resolve(key, m, false) {
		return
	}
	e, made := h.m.Insert(key)
	if e == nil {
		return
	}
	if made {
		e.Comm = m.Comm
		if m.PID == 0 {
			e.Comm = "<idle>"
		}
	}
	h.update(e, m)
	if h.resolve(key, m, true) {
		h.act(m, e, key)
	}
}

// key makes the key of an event: each part fills whole words, and a text is
// padded with NULs.
//
// Kernel: event_hist_trigger and add_to_key, kernel/trace/trace_events_hist.c.
func (h *Hist) key(p *pad, m *Moment) []byte {
	key := p.key[:h.keySize]
	clear(key)
	for _, f := range h.keys() {
		at := key[f.offset : f.offset+f.size]
		switch {
		case f.flags&flagStacktrace != 0 && f.event == nil:
			if m.Stack == nil {
				break
			}
			for i, ip := range m.Stack(p.stack[:0]) {
				if i == stackDepth {
					break
				}
				binary.LittleEndian.PutUint64(at[8*i:], ip)
			}
		case f.flags&flagStacktrace != 0:
			stack := f.value(m, nil).B
			copy(at, stack[:min(len(stack), 8*stackDepth)])
		case f.flags&flagString != 0:
			copy(at[:f.size-1], f.value(m, nil).B)
		default:
			binary.LittleEndian.PutUint64(at, f.value(m, nil).N)
		}
	}
	return key
}
