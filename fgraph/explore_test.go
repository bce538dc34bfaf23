package fgraph

import (
	"fmt"
	"testing"

	"ftracelab/internal/explore"
	"ftracelab/machine"
)

// A scene is a task that makes some calls, each inside the one before, and returns from them.
// At each point of an entry or return an interrupt may come, which calls a function and returns from
// it, and another CPU may register or unregister a user. Every order is tried.
type scene struct {
	name       string
	calls      int
	interrupts int  // in all
	nested     bool // interrupts are interrupted, too
	changes    int  // of the users, in all
	users      int  // registered at the start, of three
	runs       int
	states     int
}

var scenes = []scene{
	{name: "interrupts", calls: 2, interrupts: 2, users: 2, runs: 160, states: 151},
	{name: "interrupts of interrupts", calls: 1, interrupts: 3, nested: true, users: 2, runs: 1714, states: 1354},
	{name: "the only user goes", calls: 2, interrupts: 1, changes: 1, users: 1, runs: 756, states: 260},
	{name: "users come and go", calls: 2, changes: 2, users: 2, runs: 1189, states: 175},
	{name: "users and interrupts", calls: 1, interrupts: 1, changes: 2, users: 2, runs: 10805, states: 466},
}

// TestEveryOrder tries every order of each scene and counts them.
func TestEveryOrder(t *testing.T) {
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			r, err := explore.Run(0, func(tape *explore.Tape) error { return sc.play(tape) })
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
	scene
	tape  *explore.Tape
	g     *Graph
	s     Stack
	users [3]*actor
	serial,
	depth int
	err error
}

// actor is a user that keeps data for each call.
type actor struct {
	Ops
	life  int            // odd while it is registered
	wants map[uint64]int // by function: in which life the return was wanted
	told  map[uint64]int
}

func (sc scene) play(tape *explore.Tape) error {
	st := &stage{scene: sc, tape: tape, g: New(Config{Clock: func(*machine.CPU) uint64 { return 0 }})}
	for n := range st.users {
		u := &actor{wants: map[uint64]int{}, told: map[uint64]int{}}
		u.Entry = func(_ *machine.CPU, s *Stack, call Call) bool {
			life := u.life
			for i := range n { // user 0 reserves nothing
				if data := s.Reserve(&u.Ops, 8*n); i == 0 && data != nil {
					data[0] = call.Func<<8 | uint64(n)
				}
			}
			st.point("in entry")
			if call.Func%3 == 2 && n == 0 {
				return false
			}
			u.wants[call.Func] = life
			return true
		}
		u.Return = func(_ *machine.CPU, s *Stack, ret Ret) {
			u.told[ret.Func]++
			data := s.Retrieve(&u.Ops)
			if life, ok := u.wants[ret.Func]; !ok || u.told[ret.Func] > 1 || life != u.life {
				st.fail("user %d is told of %#x in its life %d; wanted in %d, %v; told %d times", n, ret.Func, u.life, life, ok, u.told[ret.Func])
			} else if len(data) != n || n > 0 && data[0] != ret.Func<<8|uint64(n) {
				st.fail("user %d gets the data %x of %#x", n, data, ret.Func)
			}
		}
		st.users[n] = u
		if n < sc.users {
			st.change(u)
		}
	}
	st.g.point = st.point
	st.call(sc.calls)
	if st.s.Top() != 0 || st.s.Depth() != 0 {
		st.fail("top %d, depth %d at the end", st.s.Top(), st.s.Depth())
	}
	return st.err
}

func (st *stage) fail(format string, args ...any) {
	if st.err == nil {
		st.err = fmt.Errorf(format, args...)
	}
}

// change registers a user or unregisters it.
func (st *stage) change(u *actor) {
	var err error
	if u.life++; u.life%2 == 1 {
		err = st.g.Register(&u.Ops)
	} else {
		err = st.g.Unregister(&u.Ops)
	}
	if err != nil {
		st.fail("%v", err)
	}
}

// point is where something may come between.
func (st *stage) point(string) {
	h := uint64(14695981039346656037)
	for _, w := range append(st.s.Words(nil), uint64(st.s.depth), uint64(st.g.used)) {
		h = (h ^ w) * 1099511628211
	}
	st.tape.State(h)
	// An unwinder finds a way down to the bottom from any place.
	for at := st.s.top; at != 0; {
		if at = st.s.frame(at); at < 0 {
			st.fail("no way down from %d", st.s.top)
			break
		}
	}
	if st.err != nil {
		return
	}
	if st.interrupts > 0 && (st.depth == 0 || st.nested) && st.tape.Choose(2) == 1 {
		st.interrupts--
		st.depth++
		st.call(1)
		st.depth--
	}
	if st.changes > 0 {
		if n := st.tape.Choose(len(st.users) + 1); n > 0 {
			st.changes--
			st.change(st.users[n-1])
		}
	}
}

// call calls a function, which calls another one until there are n, and returns.
func (st *stage) call(n int) {
	if n == 0 || st.err != nil {
		return
	}
	st.serial++
	fn := uint64(st.serial)
	ret := 0x1000 + fn
	took := st.g.Traces(fn) && st.g.Enter(nil, &st.s, fn, ret, fn)
	st.call(n - 1)
	if !took || st.err != nil {
		return
	}
	var lives [3]int
	for n, u := range st.users {
		lives[n] = u.life
	}
	if got := st.g.Return(nil, &st.s, 0); got != ret && st.err == nil {
		st.fail("%#x returns to %#x", fn, got)
	}
	for n, u := range st.users {
		// Who wanted it and stayed was told.
		if life, ok := u.wants[fn]; ok && life == lives[n] && life == u.life && u.told[fn] != 1 {
			st.fail("user %d was told %d times of %#x", n, u.told[fn], fn)
		}
	}
}
