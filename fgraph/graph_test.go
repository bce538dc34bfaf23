package fgraph

import (
	"errors"
	"syscall"
	"testing"

	"ftracelab/machine"

	"pgregory.net/rapid"
)

// user is an Ops that keeps what it saw and reserves data for every call.
type user struct {
	Ops
	wants    func(Call) bool
	reserve  int // bytes, 0 for none
	entered  []Call
	returned []Ret
	kept     [][]uint64
	last     int // words reserved in the last entry
}

func newUser(reserve int) *user {
	u := &user{reserve: reserve}
	u.Entry = func(_ *machine.CPU, s *Stack, call Call) bool {
		u.entered = append(u.entered, call)
		data := s.Reserve(&u.Ops, u.reserve)
		u.last = len(data)
		for i := range data {
			data[i] = call.Func + uint64(i)
		}
		return u.wants == nil || u.wants(call)
	}
	u.Return = func(_ *machine.CPU, s *Stack, ret Ret) {
		u.returned = append(u.returned, ret)
		u.kept = append(u.kept, append([]uint64(nil), s.Retrieve(&u.Ops)...))
	}
	return u
}

func newGraph(cfg Config) (*Graph, *uint64) {
	now := new(uint64)
	cfg.Clock = func(*machine.CPU) uint64 { *now += 10; return *now }
	return New(cfg), now
}

func TestEnterReturn(t *testing.T) {
	g, _ := newGraph(Config{})
	u := newUser(16)
	if err := g.Register(&u.Ops); err != nil {
		t.Fatal(err)
	}
	s := &Stack{}
	if !g.Enter(nil, s, 0x100, 0xaaa, 1) || !g.Enter(nil, s, 0x200, 0xbbb, 2) {
		t.Fatal("a wanted call was refused")
	}
	if s.Depth() != 2 || s.Top() != 2*(4+1+2+1) {
		t.Fatalf("depth %d, top %d", s.Depth(), s.Top())
	}
	if r := g.Return(nil, s, 7); r != 0xbbb {
		t.Fatalf("returned to %#x", r)
	}
	if r := g.Return(nil, s, 0); r != 0xaaa || s.Top() != 0 {
		t.Fatalf("returned to %#x, top %d", r, s.Top())
	}
	want := Ret{Func: 0x200, To: 0xbbb, Value: 7, Depth: 1, Calltime: 20, Rettime: 30}
	if u.returned[0] != want {
		t.Errorf("got %+v, want %+v", u.returned[0], want)
	}
	if k := u.kept[0]; len(k) != 2 || k[0] != 0x200 || k[1] != 0x201 {
		t.Errorf("kept %x", k)
	}
}

// TestOverrun fills a stack: 98 frames of four words, 81 of five, 122 of three.
func TestOverrun(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want int
	}{{Config{}, 98}, {Config{SubtimeWord: true}, 81}, {Config{NoCalltime: true}, 122}, {Config{SubtimeWord: true, NoCalltime: true}, 122}} {
		g, _ := newGraph(c.cfg)
		u := newUser(0)
		if err := g.Register(&u.Ops); err != nil {
			t.Fatal(err)
		}
		s := &Stack{}
		for range 150 {
			g.Enter(nil, s, 0x100, 0xaaa, 0)
		}
		if s.Depth() != c.want || int(s.Overrun()) != 150-c.want {
			t.Errorf("depth %d, overrun %d, want depth %d", s.Depth(), s.Overrun(), c.want)
		}
		g.Return(nil, s, 0)
		if got := u.returned[0].Overrun; int(got) != 150-c.want {
			t.Errorf("the return tells of %d overruns", got)
		}
	}
}

// TestNoCalltime: the time of a call is there for the user that keeps it, and for no other.
func TestNoCalltime(t *testing.T) {
	g, now := newGraph(Config{NoCalltime: true})
	var kept, told uint64
	timed := &Ops{}
	timed.Entry = func(_ *machine.CPU, s *Stack, _ Call) bool { s.Reserve(timed, 8)[0] = *now; return true }
	timed.Return = func(_ *machine.CPU, s *Stack, ret Ret) { kept, told = s.Retrieve(timed)[0], ret.Calltime }
	if err := g.Register(timed); err != nil {
		t.Fatal(err)
	}
	*now = 500
	s := &Stack{}
	g.Enter(nil, s, 0x100, 0xaaa, 9)
	if got := s.Words(nil); len(got) != 3+1+2 || got[2] != 9 {
		t.Errorf("words %x", got)
	}
	g.Sleep(600, s, nil)
	g.Sleep(900, nil, s)
	if to := g.Return(nil, s, 0); to != 0xaaa || kept != 500 || told != 0 {
		t.Errorf("returns to %#x, kept %d, told %d", to, kept, told)
	}
}

// TestReserveFull reserves every size in every frame: it is refused exactly when
// no further frame would fit above it.
func TestReserveFull(t *testing.T) {
	g, _ := newGraph(Config{})
	words := 0
	o := &Ops{Return: func(*machine.CPU, *Stack, Ret) {}}
	o.Entry = func(_ *machine.CPU, s *Stack, _ Call) bool {
		if words > 0 {
			top, fits := s.Top(), s.Top()+words+1 < 491
			got := s.Reserve(o, 8*words-7)
			if fits && len(got) != words || !fits && got != nil {
				t.Fatalf("%d words at %d: got %d", words, top, len(got))
			}
			if fits && s.Reserve(o, 8) != nil {
				t.Fatalf("%d words at %d: reserved twice", words, top)
			}
		}
		return true
	}
	if err := g.Register(o); err != nil {
		t.Fatal(err)
	}
	for below := range 98 {
		for w := 1; w <= MaxDataBytes/8; w++ {
			s := &Stack{}
			words = 0
			for range below {
				g.Enter(nil, s, 1, 2, 0)
			}
			words = w
			g.Enter(nil, s, 1, 2, 0)
			words = 0
			for s.Overrun() == 0 {
				top := s.Top()
				if took := g.Enter(nil, s, 1, 2, 0); took != (top+5 < 491) {
					t.Fatalf("a frame at %d: %v", top, took)
				}
			}
			if *s.Var(o) != 0 {
				t.Fatal("the task variable was overwritten")
			}
		}
	}
}

func TestRegister(t *testing.T) {
	g, _ := newGraph(Config{})
	var users []*user
	for range MaxOps {
		u := newUser(0)
		if err := g.Register(&u.Ops); err != nil {
			t.Fatal(err)
		}
		users = append(users, u)
	}
	if err := g.Register(&newUser(0).Ops); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("user %d: %v", MaxOps, err)
	}
	if err := g.Register(&users[0].Ops); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("twice: %v", err)
	}
	// The index released first is the first to be taken again.
	for _, i := range []int{5, 3} {
		if err := g.Unregister(&users[i].Ops); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{5, 3} {
		u := newUser(0)
		if err := g.Register(&u.Ops); err != nil || u.Index() != want {
			t.Errorf("index %d, want %d (%v)", u.Index(), want, err)
		}
	}
	if err := g.Unregister(&users[5].Ops); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("unregistered twice: %v", err)
	}
}

func TestDirect(t *testing.T) {
	g, _ := newGraph(Config{})
	a, b := newUser(0), newUser(0)
	check := func(want bool) {
		t.Helper()
		if g.Direct() != want {
			t.Errorf("direct %v with %d users", g.Direct(), g.Active())
		}
	}
	check(false)
	g.Register(&a.Ops)
	check(true)
	g.Register(&b.Ops)
	check(false)
	g.Unregister(&a.Ops)
	check(true)
	s := &Stack{}
	g.Enter(nil, s, 1, 2, 0)
	if len(a.entered) != 0 || len(b.entered) != 1 {
		t.Errorf("entered %d and %d", len(a.entered), len(b.entered))
	}
}

// TestUserZero shows the variant: 6.12 tells user 0 of returns it did not want.
func TestUserZero(t *testing.T) {
	for _, always := range []bool{false, true} {
		g, _ := newGraph(Config{AlwaysReturnZero: always})
		a, b := newUser(0), newUser(0)
		a.wants = func(Call) bool { return false }
		g.Register(&a.Ops)
		g.Register(&b.Ops)
		s := &Stack{}
		g.Enter(nil, s, 0x100, 0xaaa, 0)
		g.Return(nil, s, 0)
		if got := len(a.returned) == 1; got != always || len(b.returned) != 1 {
			t.Errorf("AlwaysReturnZero %v: %d and %d returns", always, len(a.returned), len(b.returned))
		}
	}
}

// TestRetAddr recovers the addresses below a tail call, which leaves two frames
// for one place on the machine stack.
func TestRetAddr(t *testing.T) {
	g, _ := newGraph(Config{})
	u := newUser(8)
	g.Register(&u.Ops)
	s := &Stack{}
	g.Enter(nil, s, 0x100, 0xaaa, 1)
	g.Enter(nil, s, 0x200, 0xbbb, 2)
	g.Enter(nil, s, 0x300, ReturnToHandler, 2) // 0x200 jumped to 0x300
	g.Enter(nil, s, 0x400, 0xccc, 3)
	index := 0
	for _, c := range []struct{ ret, retp, want uint64 }{
		{ReturnToHandler, 3, 0xccc},
		{0x1234, 9, 0x1234},
		{ReturnToHandler, 2, 0xbbb},
		{ReturnToHandler, 1, 0xaaa},
		{ReturnToHandler, 1, ReturnToHandler},
	} {
		if got := g.RetAddr(s, &index, c.ret, c.retp); got != c.want {
			t.Errorf("%#x at place %d: got %#x, want %#x", c.ret, c.retp, got, c.want)
		}
	}
	index = 0
	for _, want := range []uint64{0xccc, 0xbbb, 0xaaa} {
		if got := g.RetAddr(s, &index, ReturnToHandler, 0); got != want {
			t.Errorf("in order: got %#x, want %#x", got, want)
		}
	}
}

func TestSleep(t *testing.T) {
	g, now := newGraph(Config{})
	u := newUser(0)
	g.Register(&u.Ops)
	s := &Stack{}
	g.Enter(nil, s, 0x100, 0xaaa, 0) // at 10
	g.Sleep(100, s, nil)
	g.Sleep(350, nil, s)
	*now = 400
	g.Return(nil, s, 0) // at 410
	if r := u.returned[0]; r.Rettime-r.Calltime != 150 {
		t.Errorf("%d ns, want 150 without the sleep", r.Rettime-r.Calltime)
	}
}

func TestHooks(t *testing.T) {
	g := New(Config{})
	u := newUser(0)
	u.Filter = func(fn uint64) bool { return fn == 0x100 }
	g.Register(&u.Ops)
	c := &machine.CPU{Current: &machine.Task{PID: 7}, Time: 5}
	for _, fn := range []uint64{0x100, 0x200} {
		f := machine.Frame{IP: fn, Ret: 0xaaa}
		g.Call(c, &f)
		if patched := f.Ret == ReturnToHandler; patched != (fn == 0x100) {
			t.Errorf("%#x: return address %#x", fn, f.Ret)
		}
		g.Leave(c, &f)
		if f.Ret != 0xaaa {
			t.Errorf("%#x: returns to %#x", fn, f.Ret)
		}
	}
	if len(u.entered) != 1 || len(u.returned) != 1 {
		t.Errorf("%d entries, %d returns", len(u.entered), len(u.returned))
	}
}

// TestTailCall returns from two functions at once: the second took the place of
// the first on the machine's stack.
func TestTailCall(t *testing.T) {
	g := New(Config{})
	u := newUser(8)
	g.Register(&u.Ops)
	c := &machine.CPU{Current: &machine.Task{PID: 7}}
	f := machine.Frame{IP: 0x100, Ret: 0xaaa}
	g.Call(c, &f)
	f.IP = 0x200
	g.Call(c, &f)
	g.Leave(c, &f)
	if f.Ret != 0xaaa || len(u.returned) != 2 || u.returned[0].Func != 0x200 || u.returned[1].Depth != 0 {
		t.Errorf("returns to %#x, %+v", f.Ret, u.returned)
	}
}

func TestNoAllocs(t *testing.T) {
	g := New(Config{})
	o := &Ops{}
	o.Entry = func(_ *machine.CPU, s *Stack, _ Call) bool { s.Reserve(o, 32)[0] = 1; return true }
	o.Return = func(_ *machine.CPU, s *Stack, _ Ret) { s.Retrieve(o)[0]++ }
	if err := g.Register(o); err != nil {
		t.Fatal(err)
	}
	c := &machine.CPU{Current: &machine.Task{PID: 7}}
	f := machine.Frame{IP: 0x100, Ret: 0xaaa}
	g.Call(c, &f)
	g.Leave(c, &f)
	if n := testing.AllocsPerRun(100, func() { g.Call(c, &f); g.Leave(c, &f) }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}

func BenchmarkCallReturn(b *testing.B) {
	g := New(Config{})
	o := &Ops{
		Entry:  func(*machine.CPU, *Stack, Call) bool { return true },
		Return: func(*machine.CPU, *Stack, Ret) {},
	}
	if err := g.Register(o); err != nil {
		b.Fatal(err)
	}
	c := &machine.CPU{Current: &machine.Task{PID: 7}}
	f := machine.Frame{IP: 0x100, Ret: 0xaaa}
	b.ReportAllocs()
	for b.Loop() {
		g.Call(c, &f)
		g.Leave(c, &f)
	}
}

// open is a call in progress, as the model below knows it.
type open struct {
	bits    uint16 // the indices of those who wanted it
	fn, ret uint64
	wanted  map[*user]bool
	size    map[*user]int // words reserved
}

// TestModel plays random calls, returns, registrations and switches of tasks and
// checks the rules of a shadow stack after each.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _ := newGraph(Config{SubtimeWord: rapid.Bool().Draw(t, "subtime"), NoCalltime: rapid.Bool().Draw(t, "no calltime")})
		var users []*user // registered
		stacks := []*Stack{{}, {}}
		for _, s := range stacks {
			g.Adopt(s)
		}
		m := &model{g: g, stacks: stacks, open: make([][]open, len(stacks))}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				u := newUser(rapid.IntRange(0, MaxDataBytes+8).Draw(t, "bytes"))
				mod := uint64(rapid.IntRange(1, 4).Draw(t, "mod"))
				u.Filter = func(fn uint64) bool { return fn%mod == 0 }
				u.wants = func(c Call) bool { return c.Func/8%3 != mod%3 }
				if err := g.Register(&u.Ops); err != nil {
					if len(users) != MaxOps {
						t.Fatal(err)
					}
					return
				}
				for _, s := range stacks {
					if *s.Var(&u.Ops) != 0 {
						t.Fatal("a new user's variable is not zero")
					}
					*s.Var(&u.Ops) = 77
				}
				users = append(users, u)
			},
			"unregister": func(t *rapid.T) {
				if len(users) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(users)-1).Draw(t, "user")
				if err := g.Unregister(&users[i].Ops); err != nil {
					t.Fatal(err)
				}
				users = append(users[:i:i], users[i+1:]...)
			},
			"call": func(t *rapid.T) {
				m.call(t, users, rapid.IntRange(0, 1).Draw(t, "task"), uint64(rapid.IntRange(1, 64).Draw(t, "fn")))
			},
			"deep": func(t *rapid.T) {
				task, fn := rapid.IntRange(0, 1).Draw(t, "task"), uint64(12*rapid.IntRange(1, 9).Draw(t, "fn"))
				for range rapid.IntRange(1, 100).Draw(t, "calls") {
					m.call(t, users, task, fn)
				}
			},
			"return": func(t *rapid.T) { m.ret(t, users, rapid.IntRange(0, 1).Draw(t, "task")) },
			"": func(t *rapid.T) {
				for i, s := range stacks {
					if s.Depth() != len(m.open[i]) {
						t.Fatalf("task %d: depth %d, %d calls open", i, s.Depth(), len(m.open[i]))
					}
					if s.Depth() == 0 && s.Top() != 0 {
						t.Fatalf("task %d: empty, but top is %d", i, s.Top())
					}
					index := 0
					for d := len(m.open[i]) - 1; d >= 0; d-- {
						if got := g.RetAddr(s, &index, ReturnToHandler, 0); got != m.open[i][d].ret {
							t.Fatalf("task %d: frame %d returns to %#x, want %#x", i, d, got, m.open[i][d].ret)
						}
					}
				}
			},
		})
	})
}

type model struct {
	g      *Graph
	stacks []*Stack
	open   [][]open
	calls  uint64
}

// call enters fn and notes who wanted it.
func (m *model) call(t *rapid.T, users []*user, task int, fn uint64) {
	if !m.g.Traces(fn) {
		return
	}
	s := m.stacks[task]
	over, before := s.Overrun(), make(map[*user]int)
	for _, u := range users {
		before[u] = len(u.entered)
	}
	m.calls++
	o := open{fn: fn, ret: 0x1000 + m.calls, wanted: map[*user]bool{}, size: map[*user]int{}}
	f := m.g.frameWords()
	free := s.Top()+f+1 < m.g.maxOffset()
	took := m.g.Enter(nil, s, fn, o.ret, 0)
	if !free {
		if took || s.Overrun() != over+1 {
			t.Fatalf("a full stack took a frame, or did not count it")
		}
		return
	}
	any := false
	for _, u := range users {
		asked := len(u.entered) - before[u]
		if want := u.Filter(fn); (asked == 1) != want {
			t.Fatalf("user %d: asked %d times for a function its filter says %v to", u.Index(), asked, want)
		}
		if asked == 1 && u.wants(Call{Func: fn}) {
			o.wanted[u], o.size[u], any = true, u.last, true
			o.bits |= 1 << u.Index()
		}
	}
	if took != any {
		t.Fatalf("took %v, wanted %v", took, any)
	}
	if took {
		m.open[task] = append(m.open[task], o)
	}
}

// ret returns from the innermost call and checks who is told, and with what data.
func (m *model) ret(t *rapid.T, users []*user, task int) {
	n := len(m.open[task])
	if n == 0 {
		return
	}
	o := m.open[task][n-1]
	m.open[task] = m.open[task][:n-1]
	before := map[*user]int{}
	for _, u := range users {
		before[u] = len(u.returned)
	}
	if got := m.g.Return(nil, m.stacks[task], 0); got != o.ret {
		t.Fatalf("returns to %#x, want %#x", got, o.ret)
	}
	for _, u := range users {
		told := len(u.returned) - before[u]
		if o.wanted[u] {
			if told != 1 {
				t.Fatalf("user %d was told %d times of a return it wanted", u.Index(), told)
			}
			if got := len(u.kept[len(u.kept)-1]); got != o.size[u] {
				t.Fatalf("user %d: reserved %d words, got back %d", u.Index(), o.size[u], got)
			}
			for i, w := range u.kept[len(u.kept)-1] {
				if w != o.fn+uint64(i) {
					t.Fatalf("user %d: data word %d is %#x", u.Index(), i, w)
				}
			}
		}
		// A user that came later may have the index of one that wanted the return and has
		// gone: the kernel calls it, too, and so late a reuse is all it does against that.
		if !o.wanted[u] && o.bits>>u.Index()&1 == 0 && told != 0 {
			t.Fatalf("user %d was told of a return that it did not want", u.Index())
		}
		if *m.stacks[task].Var(&u.Ops) != 77 {
			t.Fatalf("user %d: its variable was overwritten", u.Index())
		}
	}
}
