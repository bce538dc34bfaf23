package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ftracelab/budget"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/output/tracecmd"
)

// world is a scheduler whose tasks are known at every moment, and what a recorder saw of it.
type world struct {
	rnd  *rand.Rand
	now  uint64
	line *Timeline
	on   []int32          // by CPU: who runs; 0 is the idle task
	can  map[int32]string // by task: running, waiting, preempted or asleep
	went map[int32]uint64 // by task: when it became that
	cpu  map[int32]int    // by task: where it runs

	ran, woken, preempted map[int32][]Period
	apart                 bool        // wake-ups are in another buffer than switches
	losing                []bool      // by CPU: what happens is not recorded
	since                 []uint64    // by CPU: the last event that was recorded
	windows               [][3]uint64 // CPU, and between which times events were lost on it
}

// newWorld makes one whose tasks are asleep.
func newWorld(seed uint64, cpus int) *world {
	w := &world{
		rnd: rand.New(rand.NewPCG(seed, 0)), line: &Timeline{
			gaps: map[int]int64{}, printer: tracecmd.New(tracecmd.Config{}), memory: budget.OrDefault(nil), tally: newTally(2),
			types: []*event.Type{events.SchedSwitch.Type, events.SchedWaking.Type}, sources: []*source{{}, {buffer: 1}},
		},
		on: make([]int32, cpus), can: map[int32]string{}, went: map[int32]uint64{}, cpu: map[int32]int{},
		ran: map[int32][]Period{}, woken: map[int32][]Period{}, preempted: map[int32][]Period{},
		losing: make([]bool, cpus), since: make([]uint64, cpus),
	}
	for pid := int32(1); pid <= 4; pid++ {
		w.can[pid] = "asleep"
	}
	return w
}

func (w *world) record(cpu int, kind uint16, data []byte) {
	if w.losing[cpu] {
		return
	}
	t := w.line
	buffer := uint16(0)
	if w.apart { // wake-ups are in a buffer of their own
		buffer = kind
	}
	if err := t.add(stored{time: w.now, cpu: uint16(cpu), kind: kind, pid: w.on[cpu], buffer: buffer}, data, t.memory); err != nil {
		panic(err)
	}
	w.since[cpu] = w.now
}

func (w *world) wake(cpu int, pid int32) {
	w.record(cpu, 1, events.SchedWaking.Append(nil, event.Common{PID: w.on[cpu]}, &events.SchedWakeupRecord{PID: pid}))
	if w.can[pid] == "asleep" {
		w.can[pid], w.went[pid] = "waiting", w.now
	}
}

func (w *world) switchTo(cpu int, next int32, sleeps bool) {
	prev, state := w.on[cpu], int64(0x100)
	if prev == next {
		return
	}
	if sleeps {
		state = 1
	}
	if prev == 0 {
		state = 0
	}
	w.record(cpu, 0, events.SchedSwitch.Append(nil, event.Common{PID: prev}, &events.SchedSwitchRecord{PrevPID: prev, PrevState: state, NextPID: next}))
	if prev != 0 {
		w.ran[prev] = append(w.ran[prev], Period{From: w.went[prev], To: w.now, CPU: cpu})
		w.can[prev], w.went[prev] = "preempted", w.now
		if sleeps {
			w.can[prev] = "asleep"
		}
	}
	if next != 0 {
		p := Period{From: w.went[next], To: w.now, CPU: cpu}
		if w.can[next] == "waiting" {
			w.woken[next] = append(w.woken[next], p)
		} else {
			w.preempted[next] = append(w.preempted[next], p)
		}
		w.can[next], w.went[next], w.cpu[next] = "running", w.now, cpu
	}
	w.on[cpu] = next
}

// step lets something happen.
func (w *world) step() {
	w.now += 1 + w.rnd.Uint64N(5)
	cpu := w.rnd.IntN(len(w.on))
	pid := int32(1 + w.rnd.IntN(4))
	switch w.rnd.IntN(3) {
	case 0: // also one that runs: it was woken between set_current_state and schedule
		if w.can[pid] == "asleep" || w.can[pid] == "running" {
			w.wake(cpu, pid)
		}
	case 1:
		if w.can[pid] == "waiting" || w.can[pid] == "preempted" {
			w.switchTo(cpu, pid, w.rnd.IntN(2) == 0)
		}
	default:
		w.switchTo(cpu, 0, w.rnd.IntN(2) == 0)
	}
}

// lose begins or ends a loss on a CPU. What follows a loss is known to follow one.
func (w *world) lose(cpu int) {
	if w.losing[cpu] = !w.losing[cpu]; w.losing[cpu] {
		return
	}
	from := w.since[cpu]
	w.now++
	w.line.gaps[w.line.n] = -1
	w.wake(cpu, 99)
	w.windows = append(w.windows, [3]uint64{uint64(cpu), from, w.now})
}

func (w *world) end() {
	for cpu, losing := range w.losing {
		if losing {
			w.lose(cpu)
		}
	}
}

// inside reports whether a period is one of the list, or a part of one.
func inside(list []Period, p Period) bool {
	return slices.ContainsFunc(list, func(q Period) bool { return q.CPU == p.CPU && q.From <= p.From && p.To <= q.To })
}

// TestPeriodsAreTrue compares periods with a scheduler that knows what each task did, also
// where the recorder began late or lost events: what is drawn was so, nothing spans a loss,
// and where nothing was lost, all is drawn whose beginning and end were recorded.
func TestPeriodsAreTrue(t *testing.T) {
	t.Log("seeds 0 to 1999")
	drawn := 0
	for seed := range uint64(2000) {
		w := newWorld(seed, 1+int(seed%3))
		w.apart = seed%8 == 3
		for i := range w.losing { // the recorder begins late: tasks run that it has not seen begin
			w.losing[i] = seed%4 == 1
		}
		for i := range 80 {
			if i == 20 && seed%4 == 1 { // nothing tells that something was missing before the beginning
				for cpu := range w.losing {
					w.losing[cpu] = false
				}
			}
			if seed%4 == 2 && w.rnd.IntN(12) == 0 {
				w.lose(w.rnd.IntN(len(w.on)))
			}
			w.step()
		}
		w.end()
		if w.line.n == 0 {
			continue
		}
		lossless := seed%4 == 0 || seed%4 == 3
		for pid := int32(1); pid <= 4; pid++ {
			p := w.line.Periods(pid)
			if w.can[pid] == "running" { // up to the end
				w.ran[pid] = append(w.ran[pid], Period{From: w.went[pid], To: w.now, CPU: w.cpu[pid]})
			}
			for _, c := range []struct {
				what       string
				drawn, was []Period
			}{{"ran", p.Ran, w.ran[pid]}, {"woken", p.Woken, w.woken[pid]}, {"preempted", p.Preempted, w.preempted[pid]}} {
				drawn += len(c.drawn)
				for _, b := range c.drawn {
					if !inside(c.was, b) {
						t.Fatalf("seed %d, task %d, %s: %+v is not true: %+v", seed, pid, c.what, b, c.was)
					}
					for _, l := range w.windows {
						if (c.what != "ran" || int(l[0]) == b.CPU) && b.From < l[2] && b.To > l[1] {
							t.Fatalf("seed %d, task %d, %s: %+v spans the loss on CPU %d from %d to %d", seed, pid, c.what, b, l[0], l[1], l[2])
						}
					}
				}
				if lossless && len(c.drawn) != len(c.was) {
					t.Fatalf("seed %d, task %d, %s: %d are drawn, %d are true", seed, pid, c.what, len(c.drawn), len(c.was))
				}
			}
		}
		if p := w.line.Periods(0); len(p.Woken)+len(p.Preempted) > 0 {
			t.Fatalf("seed %d: the idle task waits: %+v", seed, p)
		}
	}
	if drawn < 1000 {
		t.Fatalf("only %d periods", drawn)
	}
}
