package timeline

import (
	"cmp"
	"maps"
	"slices"

	"ftracelab/tracer/event"
)

// A Period is a time that a task spent in one way.
type Period struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	CPU  int    `json:"cpu"` // on which it ran; of a wait, on which it ran then
	// Open means that the end was not seen: the file ends, or events were lost.
	Open bool `json:"open,omitempty"`
}

// Periods are when a task ran and how long it waited for a CPU after it was woken, which
// is its wake-up latency. Preempted are the times in which it could have run but another
// task did.
type Periods struct {
	Ran       []Period `json:"ran"`
	Woken     []Period `json:"woken"`
	Preempted []Period `json:"preempted"`
}

// Periods follows a task through the events sched_switch, sched_waking, sched_wakeup and
// sched_wakeup_new. Nothing is concluded across a place where events were lost: a task
// that ran on that CPU is only known to have run up to the event before, and a wait is
// left out if events of any CPU were lost meanwhile, as the task may have run there. The
// idle task never waits.
//
// Of several buffers, the one that has most switches is asked when the task ran, and the
// one that has most wake-ups when it was woken: what is in two buffers would count twice.
func (t *Timeline) Periods(pid int32) Periods {
	p := Periods{Ran: []Period{}, Woken: []Period{}, Preempted: []Period{}}
	on := map[uint16]uint64{}   // CPU → since when the task runs there
	seen := map[uint16]uint64{} // CPU → when the last event was in the buffer of the switches
	var woken, preempted uint64
	isWoken, isPreempted := false, false
	fields := newFields(t.types)
	asked := t.scheduling(fields)
	for i := range t.n {
		e := t.event(i)
		if int(e.buffer) != asked.switches && int(e.buffer) != asked.wakes {
			continue
		}
		cpu, at := e.cpu, e.time
		if _, lost := t.gaps[i]; lost {
			if from, ok := on[cpu]; ok && int(e.buffer) == asked.switches {
				p.Ran = append(p.Ran, Period{from, max(from, seen[cpu]), int(cpu), true})
				delete(on, cpu)
			}
			isWoken, isPreempted = false, false
		}
		if int(e.buffer) == asked.switches {
			seen[cpu] = at
		}
		f := fields[e.kind]
		data := t.bytes(e)
		switch {
		case f.woken != nil && int(e.buffer) != asked.wakes, f.next != nil && int(e.buffer) != asked.switches:
		case f.woken != nil && int32(f.woken.Int(data)) == pid:
			// sched_waking comes first, on the CPU that wakes, sched_wakeup on the other.
			if !isWoken && !isPreempted && len(on) == 0 && pid != 0 {
				woken, isWoken = at, true
			}
		case f.next != nil && int32(f.next.Int(data)) == pid:
			if isWoken {
				p.Woken = append(p.Woken, Period{woken, at, int(cpu), false})
			} else if isPreempted {
				p.Preempted = append(p.Preempted, Period{preempted, at, int(cpu), false})
			}
			isWoken, isPreempted = false, false
			on[cpu] = at
		case f.prev != nil && int32(f.prev.Int(data)) == pid:
			if from, ok := on[cpu]; ok {
				p.Ran = append(p.Ran, Period{from, at, int(cpu), false})
			}
			delete(on, cpu)
			// A task whose beginning was not seen may have been woken while it ran.
			isWoken, isPreempted = false, false
			if pid != 0 && f.state != nil && runnable(f.state.Uint(data)) {
				preempted, isPreempted = at, true
			}
		}
	}
	for _, cpu := range slices.Sorted(maps.Keys(on)) {
		p.Ran = append(p.Ran, Period{on[cpu], t.event(t.n - 1).time, int(cpu), true})
	}
	doubtful := t.losses(asked)
	p.Woken = slices.DeleteFunc(p.Woken, doubtful)
	p.Preempted = slices.DeleteFunc(p.Preempted, doubtful)
	return p
}

// scheduling are the buffers that are asked what tasks do; -1: there is none.
type scheduling struct{ switches, wakes int }

// scheduling finds the buffers with most switches and with most wake-ups.
func (t *Timeline) scheduling(fields []fields) scheduling {
	s := scheduling{-1, -1}
	if len(t.sources) == 1 {
		only := t.sources[0].buffer
		return scheduling{only, only}
	}
	switches, wakes := make([]int, len(t.tally.buffers)), make([]int, len(t.tally.buffers))
	for i := range t.n {
		e := t.event(i)
		if fields[e.kind].next != nil {
			switches[e.buffer]++
		} else if fields[e.kind].woken != nil {
			wakes[e.buffer]++
		}
	}
	for i := range switches {
		if switches[i] > 0 && (s.switches < 0 || switches[i] > switches[s.switches]) {
			s.switches = i
		}
		if wakes[i] > 0 && (s.wakes < 0 || wakes[i] > wakes[s.wakes]) {
			s.wakes = i
		}
	}
	return s
}

// losses gives a function that reports whether events of any CPU were lost during a period,
// in a buffer that is asked.
func (t *Timeline) losses(asked scheduling) func(Period) bool {
	type loss struct{ from, to uint64 }
	var all []loss
	type ring struct{ buffer, cpu uint16 }
	seen := map[ring]uint64{} // when its last event was
	for i := range t.n {
		e := t.event(i)
		if int(e.buffer) != asked.switches && int(e.buffer) != asked.wakes {
			continue
		}
		of := ring{e.buffer, e.cpu}
		if _, lost := t.gaps[i]; lost {
			all = append(all, loss{seen[of], e.time})
		}
		seen[of] = e.time
	}
	slices.SortFunc(all, func(a, b loss) int { return cmp.Compare(a.from, b.from) })
	for i := range all[:max(len(all)-1, 0)] { // so that to is that of the last one to end, up to here
		all[i+1].to = max(all[i+1].to, all[i].to)
	}
	return func(p Period) bool {
		n, _ := slices.BinarySearchFunc(all, p.To, func(l loss, to uint64) int { return cmp.Compare(l.from, to) })
		return n > 0 && all[n-1].to > p.From
	}
}

// runnable reports whether prev_state says that the task could go on: R or R+.
//
// Kernel: __trace_sched_switch_state, include/trace/events/sched.h; 0x100 is
// TASK_REPORT_MAX, which stands for a preemption.
func runnable(state uint64) bool { return state&0xff == 0 }

// fields are those of a type of event that tell what a task does; nil if it has none.
type fields struct{ next, prev, state, woken *event.Field }

func newFields(types []*event.Type) []fields {
	all := make([]fields, len(types))
	for i, t := range types {
		switch t.String() {
		case "sched/sched_switch":
			all[i] = fields{next: t.Field("next_pid"), prev: t.Field("prev_pid"), state: t.Field("prev_state")}
		case "sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new":
			all[i] = fields{woken: t.Field("pid")}
		}
	}
	return all
}
