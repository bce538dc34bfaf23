package fgraph_test

import (
	"slices"

	"pgregory.net/rapid"

	"ftracelab/fgraph"
	"ftracelab/fgraph/fprobe"
	"ftracelab/machine"
)

// world is a graph with up to sixteen users, one of which is all fprobes together. Tasks
// call functions so deeply that their stacks overrun, interrupts come at every point of an
// entry or return, and call functions themselves, another CPU changes the probes there,
// and tasks end with calls in flight.
//
// Each call has a number. The handlers note what they are told under the number of the
// call that is being entered or left, and the world checks that against what has to be.
type world struct {
	t      *rapid.T
	g      *fgraph.Graph
	set    *fprobe.Set
	shared *fgraph.Ops // the user of all fprobes, while it is registered
	fns    []uint64    // that it is on
	direct []uint64    // that the probes past the shadow stack are on
	only   bool        // EntryOnly
	frame  int         // words of a frame
	probes []*probe
	others []*other // registered
	tasks  []*task
	calls  uint64
	now    []*call // that are being entered or left, the innermost last
	nested int     // interrupts that are under way
	budget int     // interrupts that may still come in this step
	change uint64  // counts changes of probes
	seen   map[string]int
}

// functions are those that are called. The third and the fourth are in one bucket of the
// table of fprobes, and the last never has any.
var functions = []uint64{0x100, 0x200, 0x300, 0x3f00, 0x500}

// call is a call of a function.
type call struct {
	n, fn, ret uint64
	kprobe     bool // a kprobe's handler makes it
	change     uint64
	entered    map[*probe]bool
	wanted     map[*probe]uint64 // in which life
	told       map[any]int
	bits       uint16      // the indices of the users that wanted it
	kept       map[int]int // words that users of these indices have reserved
	asked      map[*other]int
	users      map[*other]bool // that wanted it
}

type task struct {
	fgraph.Stack
	over uint32
	open []*call
}

// probe is an fprobe.
type probe struct {
	fprobe.Probe
	id     uint64
	life   uint64 // odd while it is registered
	change uint64 // counts changes of this one
	fns    []uint64
	missed uint64
}

func (p *probe) on(fn uint64) bool { return p.life%2 == 1 && slices.Contains(p.fns, fn) }

// other is a user of the graph that is no fprobe.
type other struct {
	fgraph.Ops
	id, mod uint64
	words   int
}

func (o *other) wants(n uint64) bool { return (n+o.id)%3 != 0 }

func (w *world) at() *call { return w.now[len(w.now)-1] }

func value(n, id uint64, i int) uint64 { return n<<24 | id<<16 | uint64(i)<<8 | 0x5a }

func newWorld(t *rapid.T) *world {
	cfg := fgraph.Config{Clock: func(*machine.CPU) uint64 { return 0 }}
	w := &world{t: t, frame: 4, only: rapid.Bool().Draw(t, "entry-only")}
	switch rapid.IntRange(0, 2).Draw(t, "words of a frame") {
	case 1:
		cfg.SubtimeWord, w.frame = true, 5
	case 2:
		cfg.NoCalltime, w.frame = true, 3
	}
	w.g = fgraph.New(cfg)
	w.g.SetPoint(w.point)
	w.set = fprobe.New(fprobe.Config{
		EntryOnly:     w.only,
		Attach:        w.attach,
		AttachEntry:   func(fns []uint64) { w.direct = slices.Clone(fns) },
		KprobeRunning: func(*machine.CPU) bool { return w.at().kprobe },
	})
	for range 3 {
		w.spawn()
	}
	for n := range 6 {
		p := &probe{id: uint64(n + 1)}
		p.KprobeShared = n == 5
		p.Entry = func(_ *machine.CPU, hit fprobe.Hit, data []uint64) bool { return w.probeEntry(p, hit, data) }
		if n != 0 {
			p.DataWords = rapid.IntRange(0, 8).Draw(t, "data")
			p.Exit = func(_ *machine.CPU, hit fprobe.Hit, data []uint64) { w.probeExit(p, hit, data) }
		}
		w.probes = append(w.probes, p)
	}
	return w
}

func (w *world) spawn() {
	s := new(task)
	w.g.Adopt(&s.Stack)
	for _, o := range w.others {
		*s.Var(&o.Ops) = o.id
	}
	w.tasks = append(w.tasks, s)
}

// end ends a task: nobody is told of its calls in flight.
func (w *world) end(n int) {
	w.g.Forget(&w.tasks[n].Stack)
	w.tasks = slices.Delete(w.tasks, n, n+1)
	w.spawn()
}

func (w *world) attach(o *fgraph.Ops, fns []uint64) error {
	o.Filter = func(fn uint64) bool { return slices.Contains(w.fns, fn) }
	switch on := len(fns) > 0; {
	case on && w.shared == nil:
		if err := w.g.Register(o); err != nil {
			return err
		}
		w.shared = o
	case !on && w.shared != nil:
		w.shared = nil
		if err := w.g.Unregister(o); err != nil {
			return err
		}
	}
	w.fns = slices.Clone(fns) // not if there was no room for the shared user
	return nil
}

func (w *world) probeEntry(p *probe, hit fprobe.Hit, data []uint64) bool {
	c := w.at()
	if hit.Func != c.fn || hit.To != c.ret || !p.on(c.fn) || p.Disabled || c.entered[p] || p.KprobeShared && c.kprobe {
		w.t.Fatalf("probe %d enters call %d of %#x to %#x; on it %v, disabled %v, before %v", p.id, c.n, hit.Func, hit.To, p.on(c.fn), p.Disabled, c.entered[p])
	}
	if want := p.DataWords; len(data) != want {
		w.t.Fatalf("probe %d gets %d words, want %d", p.id, len(data), want)
	}
	c.entered[p] = true
	for i := range data {
		data[i] = value(c.n, p.id, i)
	}
	if (c.n+p.id)%4 == 0 {
		return false
	}
	if p.Exit != nil {
		c.wanted[p] = p.life
		c.bits |= 1 << w.shared.Index()
	}
	return true
}

// probeExit: a probe that was removed and has come again before the call returns is told;
// the kernel accepts that.
func (w *world) probeExit(p *probe, hit fprobe.Hit, data []uint64) {
	c := w.at()
	life, ok := c.wanted[p]
	if c.told[p]++; !ok || life > p.life || p.life%2 == 0 || p.Disabled || c.told[p] > 1 || hit.Func != c.fn || hit.To != c.ret {
		w.t.Fatalf("probe %d in its life %d is told of call %d of %#x, wanted %v in %d; told %d times", p.id, p.life, c.n, hit.Func, ok, life, c.told[p])
	}
	if len(data) != p.DataWords {
		w.t.Fatalf("probe %d gets back %d words, want %d", p.id, len(data), p.DataWords)
	}
	for i, v := range data {
		if v != value(c.n, p.id, i) {
			w.t.Fatalf("probe %d gets back word %d of call %d as %#x", p.id, i, c.n, v)
		}
	}
}

// register adds a user that is no fprobe.
func (w *world) register() {
	o := &other{id: w.calls<<4 + uint64(len(w.others)) + 1, mod: uint64(rapid.IntRange(1, 3).Draw(w.t, "mod"))}
	o.words = rapid.IntRange(0, 12).Draw(w.t, "words")
	o.Filter = func(fn uint64) bool { return fn>>8%o.mod == 0 }
	o.Entry = func(_ *machine.CPU, s *fgraph.Stack, in fgraph.Call) bool {
		c := w.at()
		if c.asked[o]++; in.Func != c.fn || c.asked[o] > 1 || c.change == w.change && !o.Filter(in.Func) {
			w.t.Fatalf("user %d is asked %d times of call %d of %#x", o.Index(), c.asked[o], c.n, in.Func)
		}
		data := s.Reserve(&o.Ops, 8*o.words)
		for i := range data {
			data[i] = value(c.n, o.id, i)
		}
		if !o.wants(c.n) {
			return false
		}
		c.users[o], c.bits = true, c.bits|1<<o.Index()
		if c.kept[o.Index()] = 0; data != nil {
			c.kept[o.Index()] = len(data) + 1
		}
		return true
	}
	o.Return = func(_ *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
		c := w.at()
		c.told[o]++
		if !c.users[o] {
			// A user that came later has the index of one that wanted it: the kernel tells it, too.
			if c.bits>>o.Index()&1 == 0 {
				w.t.Fatalf("user %d is told of call %d, which it did not want", o.Index(), c.n)
			}
			return
		}
		data := s.Retrieve(&o.Ops)
		if ret.Func != c.fn || ret.To != c.ret || c.told[o] > 1 || len(data) != max(0, c.kept[o.Index()]-1) || len(data) > 0 && data[len(data)-1] != value(c.n, o.id, len(data)-1) {
			w.t.Fatalf("user %d is told %d times of call %d of %#x to %#x, with %x", o.Index(), c.told[o], c.n, ret.Func, ret.To, data)
		}
		if *s.Var(&o.Ops) != o.id {
			w.t.Fatalf("user %d: its variable was overwritten", o.Index())
		}
	}
	full := w.g.Active() == fgraph.MaxOps
	if err := w.g.Register(&o.Ops); (err != nil) != full {
		w.t.Fatalf("with %d users: %v", w.g.Active(), err)
	} else if err != nil {
		return
	}
	for _, s := range w.tasks {
		if *s.Var(&o.Ops) != 0 {
			w.t.Fatal("a new user's variable is not zero")
		}
		*s.Var(&o.Ops) = o.id
	}
	w.others = append(w.others, o)
}

// alter changes a probe: it registers or removes it, or disables it, or enables it again.
func (w *world) alter(p *probe) {
	w.change++
	p.change++
	if rapid.IntRange(0, 3).Draw(w.t, "toggle") == 0 {
		p.Disabled = !p.Disabled
		return
	}
	if p.life%2 == 1 {
		p.life++
		if err := w.set.Unregister(&p.Probe); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	set := rapid.IntRange(1, 15).Draw(w.t, "functions")
	p.fns = nil
	for n := range 4 {
		if set>>n&1 == 1 {
			p.fns = append(p.fns, functions[n])
		}
	}
	p.missed = 0 // also if there is no room for it
	if err := w.set.Register(&p.Probe, p.fns); err == nil {
		p.life++
	} else if w.g.Active() < fgraph.MaxOps {
		w.t.Fatal(err)
	}
}

// point is a place where something may come between.
func (w *world) point(place string) {
	w.walk(place)
	if w.budget <= 0 || w.nested > 1 {
		return
	}
	switch rapid.IntRange(0, 11).Draw(w.t, "between") {
	case 0, 1, 2:
		w.budget--
		w.nested++
		w.seen["an interrupt when "+place]++
		for _, s := range w.tasks {
			if s == w.running() {
				w.interrupt(s, rapid.IntRange(1, 3).Draw(w.t, "calls of the interrupt"))
			}
		}
		w.nested--
	case 3:
		w.budget--
		w.seen["a change when "+place]++
		w.alter(w.probes[rapid.IntRange(0, len(w.probes)-1).Draw(w.t, "probe")])
	}
}

// walk goes down the stack as an unwinder does, from any point: it passes all calls that
// are open, in order.
func (w *world) walk(place string) {
	s := w.running()
	n := len(s.open)
	for index := 0; n > 0; {
		ret := w.g.RetAddr(&s.Stack, &index, fgraph.ReturnToHandler, 0)
		if ret == fgraph.ReturnToHandler {
			w.t.Fatalf("%s: no way down from %d to call %d", place, s.Top(), s.open[n-1].n)
		}
		if ret == s.open[n-1].ret {
			n--
		}
	}
}

// running is the task of the call that is being entered or left.
func (w *world) running() *task { return w.tasks[len(w.tasks)-1] }

// interrupt makes some calls, each inside the one before, and returns from them.
func (w *world) interrupt(s *task, n int) {
	depth := len(s.open)
	for range n {
		w.enter(s, w.fn())
	}
	for len(s.open) > depth {
		w.leave(s)
	}
}

func (w *world) fn() uint64 { return rapid.SampledFrom(functions).Draw(w.t, "fn") }

// run makes a task the one that runs.
func (w *world) run() *task {
	n := rapid.IntRange(0, len(w.tasks)-1).Draw(w.t, "task")
	last := len(w.tasks) - 1
	w.tasks[n], w.tasks[last] = w.tasks[last], w.tasks[n]
	return w.tasks[last]
}
