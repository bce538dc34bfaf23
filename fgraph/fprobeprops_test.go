package fgraph_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/fgraph"
	"ftracelab/machine"
)

// enter makes a call and checks who was told of its entry, and who has missed it.
func (w *world) enter(s *task, fn uint64) {
	w.calls++
	c := &call{
		n: w.calls, fn: fn, ret: 0x1000 + w.calls, kprobe: w.calls%5 == 0, change: w.change,
		entered: map[*probe]bool{}, wanted: map[*probe]uint64{}, told: map[any]int{}, kept: map[int]int{},
		asked: map[*other]int{}, users: map[*other]bool{},
	}
	w.now = append(w.now, c)
	before := map[*probe]uint64{}
	words := 0
	for _, p := range w.probes {
		before[p] = p.change
		if p.on(fn) && p.Exit != nil {
			words += 1 + p.DataWords
		}
	}
	if slices.Contains(w.direct, fn) {
		w.set.Call(nil, &machine.Frame{IP: fn, Ret: c.ret})
	}
	top, index, took := s.Top(), -1, false
	if w.shared != nil {
		index = w.shared.Index()
	}
	traced := w.g.Traces(fn)
	most := fgraph.StackWords - (w.frame + 1 + fgraph.MaxOps)
	full := traced && top+w.frame+1 >= most
	over := s.over
	if traced {
		took = w.g.Enter(nil, &s.Stack, fn, c.ret, 0)
	}
	if full {
		s.over++
	}
	if full && (took || s.Overrun() != over+1 || len(c.asked) > 0 || len(c.wanted) > 0) || s.Overrun() != s.over {
		w.t.Fatalf("call %d at %d: overrun %d after %d, took %v", c.n, top, s.Overrun(), over, took)
	}
	// Whether there is room for the probes depends on what users before them have reserved.
	for user, n := range c.kept {
		if user < index {
			top += n
		}
	}
	refused := words > fgraph.MaxDataBytes/8 || words > 0 && top+w.frame+1+words+1 >= most
	for _, p := range w.probes {
		past := w.only && p.Exit == nil
		reached := p.on(fn) && !p.Disabled && (past || traced && !full)
		switch {
		case p.change != before[p]:
			p.missed = p.Missed // it changed meanwhile: it may have been told or not
		case !reached:
			if c.entered[p] {
				w.t.Fatalf("probe %d is told of call %d", p.id, c.n)
			}
		case c.entered[p]:
			if refused && !past && c.change == w.change {
				w.t.Fatalf("probe %d is told of call %d, for which there was no room: %d words at %d", p.id, c.n, words, top)
			}
		default: // it has to be counted
			if c.change == w.change && !refused && !(p.KprobeShared && c.kprobe) {
				w.t.Fatalf("probe %d is not told of call %d", p.id, c.n)
			}
			p.missed++
		}
	}
	for _, p := range w.probes {
		if c.change != w.change { // the words, or the shared user, may have changed
			p.missed = p.Missed
		}
	}
	for _, o := range w.others {
		if traced && !full && c.change == w.change && (c.asked[o] == 1) != o.Filter(fn) {
			w.t.Fatalf("user %d is asked %d times of call %d of %#x", o.Index(), c.asked[o], c.n, fn)
		}
	}
	if took != (c.bits != 0) {
		w.t.Fatalf("call %d: hooked %v, wanted by %016b", c.n, took, c.bits)
	}
	w.now = w.now[:len(w.now)-1]
	if took {
		s.open = append(s.open, c)
	}
}

// leave returns from the innermost call and checks who was told.
func (w *world) leave(s *task) {
	if len(s.open) == 0 {
		return
	}
	c := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	w.now = append(w.now, c)
	change, index := w.change, -1
	if w.shared != nil {
		index = w.shared.Index()
	}
	shared := index >= 0 && c.bits>>index&1 == 1
	if to := w.g.Return(nil, &s.Stack, 0); to != c.ret {
		w.t.Fatalf("call %d returns to %#x, want %#x", c.n, to, c.ret)
	}
	w.now = w.now[:len(w.now)-1]
	for p, life := range c.wanted {
		if shared && change == w.change && life == p.life && !p.Disabled && c.told[p] != 1 {
			w.t.Fatalf("probe %d wanted the return of call %d and is told %d times", p.id, c.n, c.told[p])
		}
	}
	for _, o := range w.others {
		if c.users[o] && c.told[o] != 1 {
			w.t.Fatalf("user %d wanted the return of call %d and is told %d times", o.Index(), c.n, c.told[o])
		}
	}
}

// TestFprobes lets all of this happen in random order.
func TestFprobes(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.seen = seen
		for range rapid.SampledFrom([]int{0, 1, 3, fgraph.MaxOps - 1}).Draw(t, "other users") {
			w.register()
		}
		for range 4 {
			w.alter(w.probes[rapid.IntRange(0, len(w.probes)-1).Draw(t, "probe")])
		}
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) { w.budget = 4; w.enter(w.run(), w.fn()) },
			"deep": func(t *rapid.T) {
				s := w.run()
				for range rapid.IntRange(1, 60).Draw(t, "calls") {
					w.budget = 1
					w.enter(s, w.fn())
				}
			},
			"return": func(t *rapid.T) { w.budget = 4; w.leave(w.run()) },
			"returns": func(t *rapid.T) {
				for s, n := w.run(), rapid.IntRange(1, 60).Draw(t, "calls"); n > 0; n-- {
					w.budget = 1
					w.leave(s)
				}
			},
			"end":      func(t *rapid.T) { w.end(rapid.IntRange(0, len(w.tasks)-1).Draw(t, "task")) },
			"alter":    func(t *rapid.T) { w.alter(w.probes[rapid.IntRange(0, len(w.probes)-1).Draw(t, "probe")]) },
			"register": func(t *rapid.T) { w.register() },
			"unregister": func(t *rapid.T) {
				if len(w.others) == 0 {
					return
				}
				n := rapid.IntRange(0, len(w.others)-1).Draw(t, "user")
				if err := w.g.Unregister(&w.others[n].Ops); err != nil {
					t.Fatal(err)
				}
				w.others = slices.Delete(w.others, n, n+1)
			},
			"": func(t *rapid.T) {
				for _, p := range w.probes {
					if p.Missed != p.missed {
						t.Fatalf("probe %d has missed %d, want %d", p.id, p.Missed, p.missed)
					}
					seen["missed"] += int(p.missed)
				}
				for _, s := range w.tasks {
					if s.Depth() != len(s.open) || len(s.open) == 0 && s.Top() != 0 {
						t.Fatalf("depth %d, %d calls open, top %d", s.Depth(), len(s.open), s.Top())
					}
					seen["overrun"] += int(s.over)
				}
				for _, fn := range functions {
					graph, direct := false, false
					for _, p := range w.probes {
						past := w.only && p.Exit == nil
						graph, direct = graph || p.on(fn) && !past, direct || p.on(fn) && past
					}
					if slices.Contains(w.fns, fn) != graph || slices.Contains(w.direct, fn) != direct {
						t.Fatalf("%#x: on the graph %v, past it %v", fn, !graph, !direct)
					}
				}
				if got := w.g.Stacks(); got != len(w.tasks) {
					t.Fatalf("%d stacks of %d tasks", got, len(w.tasks))
				}
				if w.g.Active() == fgraph.MaxOps {
					seen["sixteen users"]++
				}
			},
		})
	})
	t.Log(seen)
	for _, place := range []string{"written", "raised", "pushed", "asked", "telling", "popped"} {
		for _, what := range []string{"an interrupt when " + place, "a change when " + place} {
			if seen[what] == 0 {
				t.Errorf("in no run: %s", what)
			}
		}
	}
	for _, what := range []string{"missed", "overrun", "sixteen users"} {
		if seen[what] == 0 {
			t.Errorf("in no run: %s", what)
		}
	}
}
