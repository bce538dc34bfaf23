package main

import (
	"fmt"
	"strings"

	"ftracelab/machine"
	evt "ftracelab/tracer/event"
)

// eventTypes holds the numbers of the event types in the captures.
type eventTypes struct {
	entry, exit int
	byID        map[int]machine.Event
	said        map[int]*evt.Type // what activities take with its arguments
}

func newEventTypes(ids map[string]int) *eventTypes {
	ev := &eventTypes{entry: ids["ftrace/funcgraph_entry"], exit: ids["ftrace/funcgraph_exit"], byID: map[int]machine.Event{}}
	for e := machine.EvNone + 1; e.Valid(); e++ {
		if id, ok := ids[strings.Replace(e.TracepointName(), ":", "/", 1)]; ok {
			ev.byID[id] = e
		}
	}
	return ev
}

// event takes a record that is not that of a function.
func (s *stream) event(r *record, delta uint64) {
	if s.ev.said[r.typ] != nil {
		s.put(item{kind: saying, delta: delta, flags: r.flags, preempt: r.preempt, rec: r})
		return
	}
	e, ok := s.ev.byID[r.typ]
	if !ok {
		return
	}
	it := item{kind: event, event: e, delta: delta, flags: r.flags, preempt: r.preempt, rec: r}
	g := s.cur
	switch e {
	case machine.EvSchedSwitch:
		it.arg = int32(r.u64(32))
	case machine.EvSchedWaking, machine.EvSchedWakeup:
		it.arg = wakeClass(r.str(8, 16))
	case machine.EvSoftIRQRaise, machine.EvSoftIRQEntry, machine.EvSoftIRQExit:
		it.arg = int32(r.u32(8))
	case machine.EvSchedMigrate:
		return // the machine decides that itself
	case machine.EvSysEnter:
		if g != nil && g.key == "sys" {
			g.key, g.nr = fmt.Sprintf("sys %d", int64(r.u64(8))), int64(r.u64(8))
			for i := range g.args {
				g.args[i] = r.u64(16 + 8*i)
			}
		}
	case machine.EvSysExit:
		if g != nil {
			g.ret = int64(r.u64(16))
		}
	case machine.EvSchedFork:
		if g != nil {
			g.child = int(r.u32(44))
		}
	case machine.EvSchedExec:
		if g != nil {
			g.exec = r
		}
	}
	s.put(it)
}

// wakeClass gives the class of a wake-up, which says what kind of task it wakes.
func wakeClass(comm string) int32 {
	for i, prefix := range wakeClasses {
		if strings.HasPrefix(comm, prefix) {
			return int32(i + 1)
		}
	}
	return int32(len(wakeClasses) + 1)
}

var wakeClasses = []string{"rcu_preempt", "kworker/u", "kworker/", "ksoftirqd/", "migration/", "kcompactd"}
