package unwind

import (
	"fmt"
	"testing"

	"ftracelab/internal/explore"
	"ftracelab/machine"
	"ftracelab/unwind/cookie"
)

// A scene is what a task does, and what may come in between: an NMI that asks for a stack,
// another CPU that cancels one of the tracers, and a third tracer that takes its bit.
type scene struct {
	name         string
	cfg          Config
	nmi          int  // which tracer the NMI asks for; 0 is none, 3 the third
	cancel       int  // which is cancelled
	exit         bool // the first stay ends with the exit of the task
	exec         bool // in the first stay the task begins another program
	runs, states int
}

var scenes = []scene{
	{name: "NMI for the same tracer", nmi: 1, runs: 33, states: 26},
	{name: "NMI for the other tracer", nmi: 2, runs: 33, states: 40},
	{name: "cancel", cancel: 1, runs: 230, states: 74},
	{name: "NMI and cancel of the same tracer", nmi: 1, cancel: 1, runs: 5350, states: 74},
	{name: "NMI and cancel of the other tracer", nmi: 2, cancel: 1, runs: 5735, states: 115},
	{name: "NMI for who takes the bit", nmi: 3, cancel: 1, runs: 5499, states: 81},
	{name: "exit", nmi: 1, cancel: 2, exit: true, runs: 1419, states: 26},
	{name: "exec", nmi: 1, cancel: 2, exec: true, runs: 14622, states: 64},
	{name: "January, NMI and exit", cfg: Config{Cookies: cookie.January2025}, nmi: 2, cancel: 1, exit: true, runs: 1516, states: 28},
	{name: "January, NMI and cancel", cfg: Config{Cookies: cookie.January2025}, nmi: 2, cancel: 2, runs: 14998, states: 94},
	{name: "32 bits, NMI and exit", cfg: Config{Word32: true}, nmi: 2, cancel: 1, exit: true, runs: 1516, states: 30},
	{name: "compat, NMI and cancel", cfg: Config{WalkCompat: true}, nmi: 2, cancel: 1, runs: 5735, states: 115},
	{name: "no cmpxchg in an NMI", cfg: Config{NoNMI: true}, nmi: 2, cancel: 1, exit: true, runs: 1679, states: 30},
	{name: "a cache of 512", cfg: Config{Cache512: true}, nmi: 1, cancel: 2, runs: 14622, states: 64},
}

// TestEveryOrder plays the scenes in every order: an NMI and the two steps of a cancellation
// may come at each point of requests, walks, the return and the exit.
func TestEveryOrder(t *testing.T) {
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			r, err := explore.Run(0, sc.play)
			if err != nil {
				t.Fatal(err)
			}
			if t.Log(r); r.Runs != sc.runs || r.States != sc.states {
				t.Errorf("%v, want %d runs and %d states", r, sc.runs, sc.states)
			}
		})
	}
}

// stage is a scene being played.
type stage struct {
	*scene
	tape    *explore.Tape
	d       *Deferred
	task    *Task
	tracers [4]*actor // from 1 on; 3 is registered when the first has been cancelled
	inside  bool      // of what came in between
	came    bool      // the NMI
	bit     uint64    // of a cancellation that has not ended
	stay    int
	cookies map[cookie.ID]int // the stay that each belongs to
	err     error
}

// actor is a tracer.
type actor struct {
	Work
	gone          bool // its cancellation has ended
	asked, queued int  // in this stay: requests that had an answer, and those answered with Queued
	called        int
}

func (sc *scene) play(tape *explore.Tape) error {
	cfg := sc.cfg
	cfg.CPUs = 2
	st := &stage{scene: sc, tape: tape, d: NewDeferred(cfg), cookies: map[cookie.ID]int{}}
	mt := userTask(1)
	mt.Compat = cfg.WalkCompat
	st.task = st.d.NewTask(mt)
	for n := 1; n < len(st.tracers); n++ {
		a := &actor{}
		a.Func = func(_ *Task, stack []uint64, c cookie.ID) { st.call(n, stack, c) }
		st.tracers[n] = a
	}
	for _, a := range st.tracers[1:3] {
		if err := st.d.Init(&a.Work); err != nil {
			return err
		}
	}
	st.d.at = func(point) { st.point() }
	for st.stay = 1; st.stay <= 2 && !st.task.Exiting; st.stay++ {
		st.request(1, st.d.Request)
		st.point()
		if st.stay == 1 {
			st.request(2, st.d.Request)
			st.point()
		}
		switch {
		case st.exit:
			st.d.Exit(st.task)
		case st.exec && st.stay == 1:
			st.d.Exec(st.task)
			mt.User, mt.Memory = machine.UserRegs{IP: 0x401000, SP: 0x7ff0}, words{}
		default:
			st.d.ReturnToUser(st.task)
		}
		st.end()
	}
	return st.err
}

func (st *stage) fail(format string, args ...any) {
	if st.err == nil {
		st.err = fmt.Errorf("stay %d: "+format, append([]any{st.stay}, args...)...)
	}
}

// point is where something may come in between.
func (st *stage) point() {
	t := st.task
	if !st.inside {
		st.tape.State(t.mask<<32 ^ t.completed<<24 ^ uint64(t.id)*0x9e3779b97f4a7c15 ^ uint64(len(t.cache))<<8 ^
			uint64(st.stay)<<4 ^ bitOf(t.queued)<<1 ^ bitOf(t.leaving) ^ st.bit<<40 ^ bitOf(st.d.reading)<<60)
	}
	if st.inside {
		return
	}
	st.inside = true
	defer func() { st.inside = false }()
	for {
		var can []func()
		if st.nmi > 0 && !st.came {
			can = append(can, func() { st.came = true; st.request(st.nmi, st.d.RequestNMI) })
		}
		if a := st.tracers[max(st.cancel, 1)]; st.cancel > 0 && a.owns != nil {
			can = append(can, func() { st.bit = st.d.unlink(&a.Work) })
		} else if st.bit != 0 && !st.d.reading {
			can = append(can, func() {
				st.d.forget(st.bit)
				st.bit, a.gone = 0, true
				if err := st.d.Init(&st.tracers[3].Work); err != nil {
					st.fail("the third tracer: %v", err)
				}
			})
		}
		if len(can) == 0 {
			return
		}
		n := st.tape.Choose(len(can) + 1)
		if n == 0 {
			return
		}
		can[n-1]()
	}
}

func bitOf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// request asks for a tracer, which is allowed to fail only for a reason.
func (st *stage) request(n int, ask func(*Task, int, *Work) (int, cookie.ID, error)) {
	a := st.tracers[n]
	got, c, err := ask(st.task, 1, &a.Work)
	if err != nil {
		if nmi := st.inside; c != 0 || a.owns != nil && !st.task.Exiting && !st.task.leaving && !(nmi && st.cfg.NoNMI) {
			st.fail("tracer %d is refused: %v, cookie %x", n, err, c)
		}
		return
	}
	if a.gone {
		st.fail("tracer %d is answered after its cancellation", n)
	}
	if stay, ok := st.cookies[c]; c == 0 || ok && stay != st.stay {
		st.fail("cookie %x, which belongs to stay %d", c, stay)
	}
	if st.cookies[c] = st.stay; len(st.cookies) > st.stay {
		st.fail("two cookies in a stay: %v", st.cookies)
	}
	if a.asked++; got == Queued {
		a.queued++
	}
}

func (st *stage) call(n int, stack []uint64, c cookie.ID) {
	a := st.tracers[n]
	a.called++
	switch {
	case a.gone:
		st.fail("tracer %d is called after its cancellation", n)
	case a.called > 1:
		st.fail("tracer %d is called %d times", n, a.called)
	case a.asked == 0:
		st.fail("tracer %d is called and has not asked", n)
	case st.cookies[c] != st.stay:
		st.fail("tracer %d gets cookie %x of stay %d", n, c, st.cookies[c])
	case len(stack) == 0 || stack[0] != st.task.Machine.User.IP:
		st.fail("tracer %d gets the stack %x", n, stack)
	}
}

// end checks what each tracer got of a stay that has ended.
func (st *stage) end() {
	for n, a := range st.tracers[1:] {
		if a.queued > 1 || a.queued == 0 && a.asked > 0 && a.owns != nil {
			st.fail("tracer %d: %d of %d requests queued", n+1, a.queued, a.asked)
		}
		if a.owns != nil && a.called != a.queued {
			st.fail("tracer %d: %d calls, %d requests queued", n+1, a.called, a.queued)
		}
		a.asked, a.queued, a.called = 0, 0, 0
	}
	if st.task.walks.Total() > st.stay {
		st.fail("%d walks", st.task.walks.Total())
	}
}
