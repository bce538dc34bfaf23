package fprobe

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/fgraph"
	"ftracelab/machine"
)

// lab is a set on a graph, and a task.
type lab struct {
	*Set
	g     *fgraph.Graph
	on    bool
	fns   []uint64 // that the graph's user is on
	entry []uint64 // that the other one is on
	task  fgraph.Stack
}

func newLab(cfg Config) *lab {
	l := &lab{g: fgraph.New(fgraph.Config{Clock: func(*machine.CPU) uint64 { return 0 }})}
	cfg.Attach = func(o *fgraph.Ops, fns []uint64) error {
		l.fns = fns
		o.Filter = func(fn uint64) bool { return slices.Contains(l.fns, fn) }
		switch on := len(fns) > 0; {
		case on && !l.on:
			l.on = true
			return l.g.Register(o)
		case !on && l.on:
			l.on = false
			return l.g.Unregister(o)
		}
		return nil
	}
	cfg.AttachEntry = func(fns []uint64) { l.entry = fns }
	l.Set = New(cfg)
	return l
}

// call enters a function and reports whether its return was hooked.
func (l *lab) call(fn uint64) bool {
	if slices.Contains(l.entry, fn) {
		l.Call(nil, &machine.Frame{IP: fn})
	}
	return l.on && l.g.Traces(fn) && l.g.Enter(nil, &l.task, fn, 0xaaa, 1)
}

func (l *lab) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The words are those of domain facts: pointer without its top four bits, and the size.
func TestHeader(t *testing.T) {
	if got := header(0xffff888100c00060, 2); got != 0x2fff888100c00060 {
		t.Errorf("%#x", got)
	}
	for words := range MaxDataWords + 1 {
		addr, n, ok := parseHeader(header(firstProbe, words))
		if addr != firstProbe || n != words || !ok {
			t.Errorf("%d words: %#x, %d, %v", words, addr, n, ok)
		}
	}
	if _, _, ok := parseHeader(0); ok {
		t.Error("the end of the list is a header")
	}
}

func TestRegisterErrors(t *testing.T) {
	l := newLab(Config{})
	exit := func(*machine.CPU, Hit, []uint64) {}
	for _, c := range []struct {
		p    Probe
		fns  []uint64
		want syscall.Errno
	}{
		{Probe{Exit: exit, DataWords: 16}, []uint64{1}, syscall.E2BIG},
		{Probe{Exit: exit}, nil, syscall.EINVAL},
		{Probe{}, []uint64{1}, syscall.EINVAL},
	} {
		if err := l.Register(&c.p, c.fns); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	p := &Probe{Exit: exit, DataWords: 15}
	l.must(t, l.Register(p, []uint64{1}))
	if err := l.Register(p, []uint64{1}); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("registered twice: %v", err)
	}
	l.must(t, l.Unregister(p))
	if err := l.Unregister(p); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("unregistered twice: %v", err)
	}
	full := newLab(Config{})
	for range fgraph.MaxOps {
		l.must(t, full.g.Register(&fgraph.Ops{
			Entry:  func(*machine.CPU, *fgraph.Stack, fgraph.Call) bool { return false },
			Return: func(*machine.CPU, *fgraph.Stack, fgraph.Ret) {},
		}))
	}
	if err := full.Register(p, []uint64{1}); !errors.Is(err, syscall.ENOSPC) || len(full.fns) > 0 && full.Set.fns != nil && len(full.Set.fns) > 0 {
		t.Errorf("a 17th user of the graph: %v, on %v", err, full.Set.fns)
	}
}

// A probe that goes while a call is in flight is not called, and the others are. If the
// same probe comes back, it is: the kernel accepts that.
func TestUnregisterInFlight(t *testing.T) {
	l := newLab(Config{})
	var seen []string
	add := func(name string, words int) *Probe {
		p := &Probe{DataWords: words}
		p.Entry = func(_ *machine.CPU, _ Hit, data []uint64) bool {
			for i := range data {
				data[i] = uint64(i) + 7
			}
			return true
		}
		p.Exit = func(_ *machine.CPU, hit Hit, data []uint64) {
			seen = append(seen, fmt.Sprint(name, data, hit.Func))
		}
		l.must(t, l.Register(p, []uint64{0x100}))
		return p
	}
	a, b := add("a", 2), add("b", 0)
	first := l.call(0x100)
	if second := l.call(0x100); !first || !second {
		t.Fatal("not hooked")
	}
	l.must(t, l.Unregister(a))
	l.g.Return(nil, &l.task, 0)
	l.must(t, l.Register(a, []uint64{0x100}))
	l.g.Return(nil, &l.task, 0)
	if want := []string{"b[] 256", "b[] 256", "a[7 8] 256"}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	l.call(0x100)
	b.Disabled = true
	l.must(t, l.Unregister(a))
	l.must(t, l.Unregister(b))
	if l.on || len(l.fns) > 0 {
		t.Errorf("the graph still has a user, for %x", l.fns)
	}
	l.g.Return(nil, &l.task, 0)
	if len(seen) != 3 || l.task.Depth() != 0 {
		t.Errorf("%v", seen[3:])
	}
}

// A stack without room: all enabled probes of the function miss the call; in the kernels
// from 2025 on those that have no exit do not ask for room, and miss nothing.
func TestMissed(t *testing.T) {
	for _, direct := range []bool{false, true} {
		l := newLab(Config{EntryOnly: direct})
		entries := 0
		enter := func(*machine.CPU, Hit, []uint64) bool { entries++; return true }
		exit := func(*machine.CPU, Hit, []uint64) {}
		one := &Probe{Entry: enter}
		l.must(t, l.Register(one, []uint64{0x100}))
		// Three probes with 15 words need 48 words; a user may reserve 32.
		big := make([]*Probe, 3)
		for n := range big {
			big[n] = &Probe{Entry: enter, Exit: exit, DataWords: 15}
			l.must(t, l.Register(big[n], []uint64{0x100}))
		}
		big[2].Disabled = true
		if l.call(0x100) {
			t.Error("hooked")
		}
		wantEntries, wantMissed := 0, uint64(1)
		if direct {
			wantEntries, wantMissed = 1, 0
		}
		if entries != wantEntries || one.Missed != wantMissed || big[0].Missed != 1 || big[1].Missed != 1 || big[2].Missed != 0 {
			t.Errorf("entry-only past the stack %v: %d entries, missed %d %d %d %d", direct, entries, one.Missed, big[0].Missed, big[1].Missed, big[2].Missed)
		}
	}
}

// A probe that shares its handlers with kprobes misses the calls of a kprobe's handler.
func TestKprobeShared(t *testing.T) {
	running := true
	l := newLab(Config{KprobeRunning: func(*machine.CPU) bool { return running }})
	exits := 0
	shared := &Probe{KprobeShared: true, Exit: func(*machine.CPU, Hit, []uint64) { exits++ }}
	l.must(t, l.Register(shared, []uint64{0x100}))
	if l.call(0x100) || shared.Missed != 1 {
		t.Errorf("inside a kprobe's handler: missed %d", shared.Missed)
	}
	if running = false; !l.call(0x100) {
		t.Error("not hooked")
	}
	l.g.Return(nil, &l.task, 0)
	if exits != 1 || shared.Missed != 1 {
		t.Errorf("%d exits, %d missed", exits, shared.Missed)
	}
}

// Without an exit, 6.14 uses the stack and drops the frame again; 2025 does not touch it.
func TestEntryOnly(t *testing.T) {
	for _, direct := range []bool{false, true} {
		l := newLab(Config{EntryOnly: direct})
		entries := 0
		p := &Probe{Entry: func(*machine.CPU, Hit, []uint64) bool { entries++; return true }}
		l.must(t, l.Register(p, []uint64{0x100}))
		if l.call(0x100) || entries != 1 || l.on == direct || (len(l.entry) == 1) != direct {
			t.Errorf("past the stack %v: %d entries, graph %v, entry %v", direct, entries, l.on, l.entry)
		}
		l.must(t, l.Unregister(p))
		if l.on || len(l.entry) > 0 {
			t.Error("still attached")
		}
	}
}

// Modules take their functions with them.
func TestForget(t *testing.T) {
	l := newLab(Config{})
	exits := 0
	p := &Probe{Exit: func(*machine.CPU, Hit, []uint64) { exits++ }}
	l.must(t, l.Register(p, []uint64{0x100, 0x900}))
	l.must(t, l.Forget(func(fn uint64) bool { return fn >= 0x800 }))
	if !slices.Equal(l.fns, []uint64{0x100}) || l.call(0x900) {
		t.Errorf("on %x", l.fns)
	}
	l.must(t, l.Forget(func(uint64) bool { return true }))
	if l.on {
		t.Error("still attached")
	}
	l.must(t, l.Unregister(p))
}

// modelProbe is a probe that remembers what it saw.
type modelProbe struct {
	Probe
	id      int
	on      bool
	fns     []uint64
	reject  uint64 // entries of this function are not wanted
	entries int
	exits   []exit
	missed  uint64
}

type exit struct {
	fn   uint64
	data []uint64
}

// wanted is a return that a probe waits for.
type wanted struct {
	p    *modelProbe
	data []uint64
}

// Probes come and go while calls are in flight. Each probe is told exactly of the
// returns that it wanted and for which it is registered, with its own data; misses are
// counted exactly; and the graph's filter is the functions that have probes.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(Config{EntryOnly: rapid.Bool().Draw(rt, "entry-only")})
		var probes []*modelProbe
		type open struct {
			fn    uint64
			index int // of the shared user; after it was gone it has another one
			want  []wanted
		}
		var stack []open
		serial := uint64(0)
		for range 5 {
			p := &modelProbe{id: len(probes), reject: 0x100 * uint64(rapid.IntRange(1, 6).Draw(rt, "reject"))}
			if rapid.Bool().Draw(rt, "exit") {
				p.DataWords = rapid.IntRange(0, MaxDataWords).Draw(rt, "words")
				p.Exit = func(_ *machine.CPU, hit Hit, data []uint64) {
					p.exits = append(p.exits, exit{hit.Func, slices.Clone(data)})
				}
			}
			p.Entry = func(_ *machine.CPU, hit Hit, data []uint64) bool {
				p.entries++
				for i := range data {
					serial++
					data[i] = serial
				}
				return hit.Func != p.reject
			}
			probes = append(probes, p)
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			p := probes[rapid.IntRange(0, len(probes)-1).Draw(rt, "probe")]
			switch rapid.SampledFrom([]string{"on", "off", "toggle", "call", "call", "call", "return", "return"}).Draw(rt, "do") {
			case "on":
				if p.on {
					continue
				}
				p.fns = nil
				for fn := uint64(0x100); fn <= 0x400; fn += 0x100 {
					if rapid.Bool().Draw(rt, "fn") {
						p.fns = append(p.fns, fn)
					}
				}
				if (l.Register(&p.Probe, p.fns) == nil) != (len(p.fns) > 0) {
					rt.Fatalf("register on %x", p.fns)
				}
				if p.on = len(p.fns) > 0; p.on {
					p.missed = 0
				}
			case "off":
				if p.on {
					_ = l.Unregister(&p.Probe) // a fault shows in the filter below
					p.on = false
				}
			case "toggle":
				p.Disabled = !p.Disabled
			case "call":
				fn := 0x100 * uint64(rapid.IntRange(1, 5).Draw(rt, "fn"))
				var before [5]int
				words := 0
				on := func(p *modelProbe) bool { return p.on && slices.Contains(p.fns, fn) }
				for n, p := range probes {
					if before[n] = p.entries; on(p) && p.Exit != nil {
						words += 1 + p.DataWords
					}
				}
				over, serialBefore := l.task.Overrun(), serial
				free := 491 - 1 - (l.task.Top() + 5) // words that the data may take
				hooked := l.call(fn)
				// Who cannot reserve misses the call; a full stack is the graph's own miss.
				full := l.task.Overrun() != over
				refused := words > 32 || words > 0 && words+1 > free
				o := open{fn: fn, index: l.ops.Index()}
				for n, p := range probes {
					direct := l.cfg.EntryOnly && p.Exit == nil
					runs := on(p) && !p.Disabled
					if runs && !direct && !full && refused && (p.Exit != nil || !l.cfg.EntryOnly) {
						p.missed++
					}
					if direct || !full && !refused {
						// it runs
					} else {
						runs = false
					}
					if got := p.entries - before[n]; got != map[bool]int{true: 1}[runs] {
						rt.Fatalf("probe %d: %d entries, should run: %v", n, got, runs)
					}
					if p.Missed != p.missed {
						rt.Fatalf("probe %d: missed %d, counts %d", n, p.missed, p.Missed)
					}
					if runs && p.Exit != nil && fn != p.reject {
						o.want = append(o.want, wanted{p: p})
					}
				}
				// The data of each is what its Entry wrote; they ran in the table's order.
				next := serialBefore
				for _, n := range l.graph.at(fn) {
					for i := range o.want {
						if &o.want[i].p.Probe == n.probe {
							for range n.probe.DataWords {
								next++
								o.want[i].data = append(o.want[i].data, next)
							}
						}
					}
					if n.probe.Exit != nil && !n.probe.Disabled && !slices.ContainsFunc(o.want, func(w wanted) bool { return &w.p.Probe == n.probe }) {
						next += uint64(n.probe.DataWords) // it ran and did not want the return
					}
				}
				if hooked != (len(o.want) > 0) {
					rt.Fatalf("hooked %v, %d want the return", hooked, len(o.want))
				}
				if hooked {
					stack = append(stack, o)
				}
			case "return":
				if len(stack) == 0 {
					continue
				}
				o := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				var before [5]int
				for n, p := range probes {
					before[n] = len(p.exits)
				}
				l.g.Return(nil, &l.task, 0)
				for n, p := range probes {
					var want []uint64
					told := 0
					for _, w := range o.want {
						if w.p == p && p.on && !p.Disabled && l.on && l.ops.Index() == o.index {
							told, want = 1, w.data
						}
					}
					got := p.exits[before[n]:]
					if len(got) != told || told == 1 && (got[0].fn != o.fn || !slices.Equal(got[0].data, want)) {
						rt.Fatalf("probe %d: told %v of %#x, want %d with %v", n, got, o.fn, told, want)
					}
				}
			}
			for fn := uint64(0x100); fn <= 0x500; fn += 0x100 {
				var graph, direct bool
				for _, p := range probes {
					if p.on && slices.Contains(p.fns, fn) {
						if l.cfg.EntryOnly && p.Exit == nil {
							direct = true
						} else {
							graph = true
						}
					}
				}
				if slices.Contains(l.fns, fn) != graph || slices.Contains(l.entry, fn) != direct {
					rt.Fatalf("%#x: on the graph %v, past it %v; want %v, %v", fn, !graph, !direct, graph, direct)
				}
			}
		}
	})
}

// With more probes and functions than there are buckets, each return reaches the probe
// of its function and no other; and none of it when it is gone.
func TestFullBuckets(t *testing.T) {
	l := newLab(Config{})
	const n = 600
	told := make([]int, n)
	probes := make([]*Probe, n)
	for i := range probes {
		probes[i] = &Probe{Exit: func(_ *machine.CPU, hit Hit, _ []uint64) {
			if hit.Func != uint64(0x1000+16*i) {
				t.Errorf("probe %d is told of %#x", i, hit.Func)
			}
			told[i]++
		}}
		l.must(t, l.Register(probes[i], []uint64{uint64(0x1000 + 16*i)}))
	}
	for i := range probes {
		l.call(uint64(0x1000 + 16*i))
		if i%2 == 1 {
			l.must(t, l.Unregister(probes[i]))
		}
		l.g.Return(nil, &l.task, 0)
		if told[i] != 1-i%2 {
			t.Errorf("probe %d was told %d times", i, told[i])
		}
	}
}

// What a probe did not use of the room on the stack is cleared: there may be the header of
// a probe from an earlier call, whose exit handler would run without a reason.
func TestUnusedRoomIsCleared(t *testing.T) {
	l := newLab(Config{})
	var wanted [2]bool
	var exits [2]int
	for n := range wanted {
		p := &Probe{
			Entry: func(*machine.CPU, Hit, []uint64) bool { return wanted[n] },
			Exit:  func(*machine.CPU, Hit, []uint64) { exits[n]++ },
		}
		l.must(t, l.Register(p, []uint64{0x100}))
	}
	for _, want := range [][2]bool{{true, true}, {true, false}, {false, true}, {true, true}} {
		wanted, exits = want, [2]int{}
		if !l.call(0x100) {
			t.Fatal("the return is not hooked")
		}
		l.g.Return(nil, &l.task, 0)
		for n := range want {
			if (exits[n] == 1) != want[n] || exits[n] > 1 {
				t.Errorf("wanted %v: probe %d ran %d times", want, n, exits[n])
			}
		}
	}
}
