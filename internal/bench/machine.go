package bench

import (
	"container/heap"
	"time"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// machineRows compare the simulated machine with a simulator as one would write it: a
// heap of closures, ordered by the time at which they run.
func machineRows() []comparison {
	return []comparison{
		{
			id: "D1", what: "a call, not traced", peer: "heap of closures", goal: 0.35,
			rounds: pairRounds, events: machineSlice, ours: untraced(4), theirs: closures(4, false),
		},
		{
			id: "D2", what: "a call, function tracer", peer: "heap of closures, bounded copy", goal: 0.5,
			rounds: pairRounds, events: machineSlice, ours: traced, theirs: closures(4, true),
		},
		{id: "D3", what: "a call on 64 CPUs, not traced", peer: "the same on 4 CPUs", rounds: pairRounds, events: machineSlice, ours: untraced(64), theirs: untraced(4)},
	}
}

// machineSlice is how many calls a slice has. It takes some milliseconds, in which the
// scenario does a bit of everything.
const machineSlice = 100_000

// machineStep is how much simulated time passes before the calls are counted again.
const machineStep = 50 * machine.Microsecond

// machineWarm is how much simulated time passes first. By then the default scenario has made
// the code of nearly all that it does.
const machineWarm = 5 * machine.Second

// untraced runs the default scenario and counts the calls of functions that a tracer
// could see. The count is all that the hook does.
func untraced(cpus int) func() (runner, error) {
	return func() (runner, error) {
		m, err := booted(cpus)
		if err != nil {
			return nil, err
		}
		m.Run(machineWarm)
		calls := 0
		m.Hooks.Call = func(*machine.CPU, *machine.Frame) { calls++ }
		return calling(&calls, m.Run), nil
	}
}

// traced is the same on four CPUs with the function tracer.
func traced() (runner, error) {
	m, err := booted(4)
	if err != nil {
		return nil, err
	}
	ft, err := tracer.New(m, tracer.Config{})
	if err != nil {
		return nil, err
	}
	if err := tracefsfs.WriteFile(tracefsfs.New(ft.Root()), "current_tracer", "function\n"); err != nil {
		return nil, err
	}
	ft.Run(machineWarm)
	calls, call := 0, m.Hooks.Call
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		calls++
		call(c, f)
	}
	return calling(&calls, ft.Run), nil
}

func booted(cpus int) (*machine.Machine, error) {
	m, err := machine.New(machine.Config{CPUs: cpus})
	if err != nil {
		return nil, err
	}
	s, err := workload.Find("")
	if err != nil {
		return nil, err
	}
	return m, s.Start(m)
}

// calling makes a runner that lets simulated time pass until n calls were counted.
func calling(calls *int, run func(machine.Time)) runner {
	return func(n int) (time.Duration, int, error) {
		start, before := time.Now(), *calls
		for *calls-before < n {
			run(machineStep)
		}
		return time.Since(start), *calls - before, nil
	}
}

// simulator runs closures in the order of their times, and those of the same time in the
// order in which they were added.
type simulator struct {
	due   []due
	now   uint64
	added uint64
}

type due struct {
	at, order uint64
	do        func()
}

func (s *simulator) Len() int      { return len(s.due) }
func (s *simulator) Swap(i, j int) { s.due[i], s.due[j] = s.due[j], s.due[i] }
func (s *simulator) Push(x any)    { s.due = append(s.due, x.(due)) }

func (s *simulator) Less(i, j int) bool {
	a, b := &s.due[i], &s.due[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (s *simulator) Pop() any {
	last := len(s.due) - 1
	d := s.due[last]
	s.due = s.due[:last]
	return d
}

func (s *simulator) after(d uint64, do func()) {
	s.added++
	heap.Push(s, due{s.now + d, s.added, do})
}

// simulatedCPU calls functions and returns from them, up to a depth, and each of these
// adds the closure for the next one. It knows nothing of tasks, contexts or interrupts.
type simulatedCPU struct {
	s      *simulator
	frames []uint64
	ring   *pageRing // nil: nothing is recorded
	record [24]byte
	calls  int
}

const simulatedDepth = 12

func (c *simulatedCPU) call() {
	c.frames = append(c.frames, uint64(c.calls))
	c.calls++
	if c.ring != nil {
		for i := range 8 {
			c.record[i] = byte(c.s.now >> (8 * i))
			c.record[8+i] = byte(c.frames[len(c.frames)-1] >> (8 * i))
		}
		c.ring.write(c.record[:])
	}
	if len(c.frames) < simulatedDepth {
		c.s.after(100, c.call)
	} else {
		c.s.after(100, c.leave)
	}
}

func (c *simulatedCPU) leave() {
	c.frames = c.frames[:len(c.frames)-1]
	if len(c.frames) > 0 {
		c.s.after(90, c.leave)
	} else {
		c.s.after(110, c.call)
	}
}

// closures is the simulator with that many CPUs.
func closures(cpus int, record bool) func() (runner, error) {
	return func() (runner, error) {
		s := new(simulator)
		all := make([]*simulatedCPU, cpus)
		for i := range all {
			all[i] = &simulatedCPU{s: s}
			if record {
				all[i].ring = newPageRing()
			}
			s.after(uint64(i), all[i].call)
		}
		calls := func() (n int) {
			for _, c := range all {
				n += c.calls
			}
			return n
		}
		return func(n int) (time.Duration, int, error) {
			start, before := time.Now(), calls()
			for calls()-before < n {
				for range 100 {
					d := heap.Pop(s).(due)
					s.now = d.at
					d.do()
				}
			}
			return time.Since(start), calls() - before, nil
		}, nil
	}
}
