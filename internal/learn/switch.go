package main

import (
	"strings"

	"ftracelab/machine"
	"ftracelab/workload"
)

// isFinish recognizes the function with which a task goes on after a context switch.
func isFinish(name string) bool { return strings.HasPrefix(name, "finish_task_switch") }

// cutSwitches takes the code of context switches out of g and gives it as segments of
// its own: what a task executes from the first function that __schedule calls to the
// switch, and what it executes when it runs again. __switch_to itself is not in the
// captures, because the graph tracer cannot see it. It is where the records of another
// task begin, just before finish_task_switch.
func (g *segment) cutSwitches(cs *callers) (parts []*segment) {
	var rest []item
	for i := 0; i < len(g.items); i++ {
		it := g.items[i]
		switch {
		case it.kind == enter && cs.name(it.fn) == "rcu_note_context_switch":
			end, rec := scheduleEnd(g.items, i, cs)
			at := item{kind: scheduling, delta: it.delta, flags: it.flags, preempt: it.preempt}
			part := &segment{items: g.items[i:end:end]}
			if rec == nil {
				from := "user"
				if word := strings.Fields(g.key); word[0] == "idle" || word[0] == "kthread" {
					from = word[0]
				}
				part.key = workload.SwitchKey(from, "same", machine.StateRunning)
			} else {
				at.arg = int32(rec.u64(32))
				from, to := kindsOf(rec)
				part.key = workload.SwitchKey(from, to, rec.int64(32))
				part.items = append(part.items, item{kind: swtch, flags: it.flags, preempt: it.preempt})
			}
			parts = append(parts, part)
			rest = append(rest, at)
			i = end - 1
			if end < len(g.items) && g.items[end].kind == swtch {
				done := finishEnd(g.items, end+1)
				parts = append(parts, finishPart(g.items[end:done], false))
				i = done - 1
			}
		case it.kind == swtch:
			done := finishEnd(g.items, i+1)
			parts = append(parts, finishPart(g.items[i:done], true))
			it.kind = finishing
			rest = append(rest, it)
			i = done - 1
		default:
			rest = append(rest, it)
		}
	}
	g.items = rest
	return parts
}

// scheduleEnd finds where the code of __schedule ends that begins at items[first]: at the
// switch or, if the task has gone on, where __schedule returns. rec is its sched_switch.
func scheduleEnd(items []item, first int, cs *callers) (end int, rec *record) {
	depth := 0
	for i := first; i < len(items); i++ {
		switch it := &items[i]; it.kind {
		case enter:
			if name := cs.name(it.fn); depth == 0 && i > first && (name == "wq_worker_running" || name == "rcu_note_context_switch") {
				return i, rec
			}
			depth++
		case exit:
			if depth--; depth < 0 {
				return i, rec
			}
		case swtch:
			return i, rec
		case event:
			if it.event == machine.EvSchedSwitch {
				rec = it.rec
			}
		}
	}
	return len(items), rec
}

// finishEnd finds the end of the function that is entered at items[first].
func finishEnd(items []item, first int) int {
	depth := 0
	for i := first; i < len(items); i++ {
		switch items[i].kind {
		case enter:
			depth++
		case exit:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(items)
}

// finishPart makes a segment of what follows a switch, which is items[0].
func finishPart(items []item, born bool) *segment {
	from, to := "idle", "user"
	state := int64(machine.StateRunning)
	if rec := items[0].rec; rec != nil {
		from, to = kindsOf(rec)
		state = rec.int64(32)
	}
	return &segment{key: workload.FinishKey(from, to, state, born), items: items[1:]}
}

// kindsOf gives the kinds of the two tasks of a sched_switch.
func kindsOf(rec *record) (from, to string) {
	kind := func(pid int, comm string) string {
		switch {
		case pid == 0:
			return "idle"
		case strings.HasPrefix(comm, "migration/"):
			return "stop"
		case isKthread(comm):
			return "kthread"
		}
		return "user"
	}
	return kind(int(rec.u32(24)), rec.str(8, 16)), kind(int(rec.u32(56)), rec.str(40, 16))
}
