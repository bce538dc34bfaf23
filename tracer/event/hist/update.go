package hist

import "encoding/binary"

// resolve reads the variables of other triggers, or with self the trigger's
// own, into m.refs. It fails if there is no element of that key or the variable
// has no value. A variable of another trigger that an expression reads has no
// value afterwards.
//
// Departure: a trigger whose key is shorter than the key of the trigger that it
// reads from finds nothing there; the kernel reads on past the end of the key.
//
// Kernel: resolve_var_refs, kernel/trace/trace_events_hist.c.
func (h *Hist) resolve(key []byte, m *Moment, self bool) bool {
	for n, ref := range h.refs {
		if self != (ref.hist == h) {
			continue
		}
		of := ref.hist
		e := of.m.Lookup(key[:min(len(key), of.keySize)])
		if e == nil || !e.Set[ref.index] {
			return false
		}
		if !self && ref.readOnce {
			e.Set[ref.index] = false
		}
		m.refs[n] = e.Vars[ref.index]
	}
	return true
}

// update adds the values to an element and sets its variables.
//
// Kernel: hist_trigger_elt_update, kernel/trace/trace_events_hist.c.
func (h *Hist) update(e *Element, m *Moment) {
	for n, f := range h.vals() {
		v := f.value(m, e)
		switch {
		case f.flags&flagVar == 0:
			e.AddSum(n, v.N)
		case f.holdsText():
			e.SetVar(f.index, f.keep(e, h.fieldTexts+h.saveTexts+f.text, v, m))
		default:
			e.SetVar(f.index, v)
		}
	}
	updateFieldVars(h.fieldVars, e, m, 0)
}

// updateFieldVars sets the variables that actions have made; text is the index
// of the first of the element's texts that belong to them.
//
// Kernel: __update_field_vars, kernel/trace/trace_events_hist.c.
func updateFieldVars(vars []fieldVar, e *Element, m *Moment, text int) {
	for n := range vars {
		f := vars[n].value
		v := f.value(m, e)
		if f.flags&(flagString|flagStacktrace) != 0 {
			v = f.keep(e, text, v, m)
			text++
		}
		e.SetVar(vars[n].variable.index, v)
	}
}

// keep copies a text of the record, or the stack of the moment, to the element.
func (f *Field) keep(e *Element, text int, v Value, m *Moment) Value {
	room := e.Text(text)
	kept := Value{N: elementAddress + uint64(text)*textMax}
	if f.flags&flagString != 0 {
		n := copy(room[:min(f.size, textMax)-1], v.B)
		kept.B = room[:n]
		return kept
	}
	n := 0
	if m.Stack != nil {
		m.stack = m.Stack(m.stack[:0])
		for _, ip := range m.stack[:min(len(m.stack), stackDepth)] {
			binary.LittleEndian.PutUint64(room[n:], ip)
			n += 8
		}
	}
	kept.B = room[:n]
	return kept
}

// act carries out the actions in their order.
//
// Kernel: hist_trigger_actions, kernel/trace/trace_events_hist.c.
func (h *Hist) act(m *Moment, e *Element, key []byte) {
	for _, a := range h.actions {
		if a.handler == onmatch {
			a.synth.Generate(m, m.refs[:], a.refs)
			continue
		}
		v := m.refs[a.trackRef.ref]
		if !a.tracks(e.Vars[a.trackVar.index].N, v.N) {
			continue
		}
		e.SetVar(a.trackVar.index, Value{N: v.N})
		switch a.kind {
		case save:
			updateFieldVars(h.saveVars, e, m, h.fieldTexts)
		case trace:
			a.synth.Generate(m, m.refs[:], a.refs)
		case snapshot:
			h.takeSnapshot(m, e, key)
		}
	}
}

// tracks reports whether a value replaces the one that is kept: a bigger value
// for onmax, a different value for onchange.
//
// Kernel: check_track_val_max and check_track_val_changed,
// kernel/trace/trace_events_hist.c.
func (a *action) tracks(kept, v uint64) bool {
	if a.handler == onmax {
		return v > kept
	}
	return v != kept
}
