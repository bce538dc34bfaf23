package main

import (
	"slices"

	"ftracelab/machine"
	evt "ftracelab/tracer/event"
	"ftracelab/workload"
)

// rounds says which numbers of an activity count up from round to round: the
// transactions of a journal.
type rounds struct{ step uint64 }

// counting are the fields that count up, by system and name.
var counting = map[string]bool{
	"jbd2 transaction": true, "jbd2 tid": true, "jbd2 head": true,
}

// jiffy are the fields that hold a time in ticks, and clocked those that hold one in ns.
var (
	jiffy = map[string]bool{
		"writeback dirtied_when": true, "timer expires": true, "timer bucket_expiry": true, "timer baseclk": true,
	}
	clocked = map[string]bool{}
)

// roundsOf finds by how much the numbers grow in a round.
func roundsOf(records []record, types map[int]*evt.Type) rounds {
	low, high := ^uint64(0), uint64(0)
	for i := range records {
		t := types[records[i].typ]
		if t == nil {
			continue
		}
		for n := range t.Fields {
			if f := &t.Fields[n]; counting[t.System+" "+f.Name] && f.Name != "head" {
				if v := f.Uint(records[i].data); v != 0 {
					low, high = min(low, v), max(high, v)
				}
			}
		}
	}
	if high < low {
		return rounds{}
	}
	return rounds{high - low + 1}
}

// wakes gives the operand of a wake-up in an activity: the role that it wakes or, for a
// task that is none, the class.
func (em *emitter) wakes(it *item) int32 {
	if it.event != machine.EvSchedWaking && it.event != machine.EvSchedWakeup {
		return it.arg
	}
	if role, ok := em.roles[int(it.rec.u32(24))]; ok {
		return workload.WakeRole + int32(role)
	}
	if int(it.arg) > len(wakeClasses) {
		return workload.WakeNobody
	}
	return it.arg
}

// say adds an event with its arguments.
func (em *emitter) say(it *item) {
	t := em.types[it.rec.typ]
	h := machine.Happening{Name: t.System + ":" + t.Name, Raises: it.raises}
	for n := range t.Fields {
		h.Values = append(h.Values, em.quantity(t, &t.Fields[n], it.rec))
	}
	em.names[h.Name] = true
	at := slices.IndexFunc(em.said.Happenings, func(o machine.Happening) bool { return same(&o, &h) })
	if at < 0 {
		at = len(em.said.Happenings)
		em.said.Happenings = append(em.said.Happenings, h)
	}
	em.op(machine.OpLearned, int32(at), it.delta)
}

func same(a, b *machine.Happening) bool {
	return a.Name == b.Name && a.Raises == b.Raises && slices.EqualFunc(a.Values, b.Values, func(p, q machine.Quantity) bool {
		return p.Kind == q.Kind && p.Word == q.Word && string(p.Bytes) == string(q.Bytes)
	})
}

// quantity makes an argument of a field.
func (em *emitter) quantity(t *evt.Type, f *evt.Field, r *record) machine.Quantity {
	key := t.System + " " + f.Name
	switch {
	case f.IsText() && (f.Name == "comm" || f.Name == "name" && t.System == "nothing"):
		return machine.Quantity{Kind: machine.QuantityComm}
	case f.IsArray() || f.Dynamic():
		return machine.Quantity{Kind: machine.QuantityBytes, Bytes: slices.Clone(f.Bytes(r.data))}
	}
	v := f.Uint(r.data)
	switch {
	case counting[key] && v != 0:
		return machine.Quantity{Kind: machine.QuantityRound, Word: v}
	case jiffy[key]:
		return machine.Quantity{Kind: machine.QuantityJiffies, Word: v - machine.JiffiesAt(r.time)}
	case clocked[key]:
		return machine.Quantity{Kind: machine.QuantityTime, Word: v - r.time}
	case f.Name == "pid" && int(v) == r.pid:
		return machine.Quantity{Kind: machine.QuantityPID}
	case f.Size == 8 && em.cs.name(v) == "return_to_handler":
		return machine.Quantity{Kind: machine.QuantityCaller}
	}
	return machine.Quantity{Word: v}
}
