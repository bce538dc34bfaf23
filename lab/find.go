package lab

import (
	"fmt"
	"slices"
)

// A Search is how far Find goes.
type Search struct {
	Runs int   // how many runs it may play; 0: DefaultRuns
	Acts []Act // what may be chosen; nil: whatever is possible
}

// DefaultRuns is how many runs Find plays if nobody says it.
const DefaultRuns = 20_000

// maxSteps is how many steps all runs of a search may make together.
const maxSteps = 2_000_000

// maxWaiting is how many runs may wait to be played, which keeps the memory of a search
// below 100 MB.
const maxWaiting = 2_000_000

// A Finding is what a search has seen.
type Finding struct {
	Place  Place
	Runs   int  // that were played
	States int  // different ones that they led through
	All    bool // every choice in every state was tried
}

// Find looks for choices after the step of p that lead to a step at which the condition
// holds. What was chosen up to p stays. It tries no choice first, then one, then two, so
// that what it finds needs as few as possible; a further operation of a reader that is in
// a call counts for nothing. The same search finds the same.
//
// A state from which all choices were tried is not tried again, however it was reached.
// States count as the same if everybody is at the same step and the structure looks the
// same; times and the bytes of events are not compared.
//
// The error wraps ErrNoStep if nothing was found within the bound, and says how far the
// search went.
func Find(p Place, c Condition, s Search) (Finding, error) {
	if s.Runs <= 0 {
		s.Runs = DefaultRuns
	}
	r, err := Play(p)
	if err != nil {
		return Finding{Place: p}, err
	}
	p = r.Place
	p.Choices = slices.DeleteFunc(slices.Clone(p.Choices), func(c Choice) bool { return c.After > p.Step })
	f := &finder{Search: s, from: p, want: c, seen: map[uint64]bool{}, nodes: []node{{parent: -1}}, queues: [][]int32{{0}}}
	for cost := 0; cost < len(f.queues); cost++ {
		for i := 0; i < len(f.queues[cost]); i++ {
			if f.runs == s.Runs || f.steps > maxSteps {
				return f.finding(false), fmt.Errorf("%w: %q was not found in %d runs, through %d states, with up to %d choices", ErrNoStep, c.text, f.runs, len(f.seen), cost)
			}
			if at, ok, err := f.play(f.queues[cost][i], cost); err != nil || ok {
				found := f.finding(false)
				found.Place = at
				return found, err
			}
		}
		f.queues[cost] = nil
	}
	all := !f.full
	why := "every choice in every state was tried"
	if !all {
		why = "and not all choices were tried"
	}
	return f.finding(all), fmt.Errorf("%w: %q was not found: %d runs, %d states, %s", ErrNoStep, c.text, f.runs, len(f.seen), why)
}

// finder is a search.
type finder struct {
	Search
	from   Place
	want   Condition
	seen   map[uint64]bool // states by their key
	nodes  []node
	queues [][]int32 // by the number of choices
	runs   int
	steps  int  // of them all
	full   bool // a run was left out for want of room
}

// A node is a run: that of its parent with one more choice.
type node struct {
	parent int32
	choice Choice
}

func (f *finder) finding(all bool) Finding {
	return Finding{Place: f.from, Runs: f.runs, States: len(f.seen), All: all}
}

func (f *finder) choices(id int32) []Choice {
	var list []Choice
	for n := f.nodes[id]; n.parent >= 0; n = f.nodes[n.parent] {
		list = append(list, n.choice)
	}
	slices.Reverse(list)
	return append(slices.Clone(f.from.Choices), list...)
}

// play plays a run until it comes to a state that was seen, or to a step that is looked
// for. On the way it notes which runs branch off.
func (f *finder) play(id int32, cost int) (at Place, found bool, err error) {
	f.runs++
	p := f.from
	p.Choices = f.choices(id)
	first := p.Step
	if id != 0 {
		first = f.nodes[id].choice.After + 1
	}
	pl := &player{place: Place{Scenario: p.Scenario, Choices: p.Choices, Step: Last}, listed: true}
	var w *watch
	pl.look = func(n int, st Step) {
		if w == nil {
			if w, pl.err = f.want.in(pl); pl.err != nil {
				return
			}
		}
		holds := n > 0 && w.holds(st)
		switch {
		case n < first || n == 0 && first > 0:
			return
		case holds && n > f.from.Step && !pl.ending:
			at, found = p, true
			at.Step = n
			pl.err = errEnough
			return
		}
		if pl.key != nil {
			key := f.state(pl, w)
			if f.seen[key] {
				pl.err = errEnough
				return
			}
			f.seen[key] = true
		}
		f.branch(pl, id, n, cost)
	}
	sc, _ := find(p.Scenario)
	sc.play(pl)
	f.steps += pl.made
	if pl.err == errEnough {
		pl.err = nil
	}
	return at, found, pl.err
}

// state is the key of a state, with the numbers that the condition compares.
func (f *finder) state(pl *player, w *watch) uint64 {
	h := hasher(pl.key())
	for _, t := range w.terms {
		if t.number != "" {
			h.add(int(pl.values[t.number]()))
		}
	}
	return uint64(h)
}

// branch notes the runs that differ from this one by a choice after step n.
func (f *finder) branch(pl *player, id int32, n, cost int) {
	if pl.can == nil || len(f.choices(id)) >= MaxChoices {
		return
	}
	can := pl.can()
	inCall := slices.Contains(can, Beside) && !slices.Contains(can, BesidePage)
	for _, a := range can {
		if f.Acts != nil && !slices.Contains(f.Acts, a) && !(inCall && a == Beside) {
			continue
		}
		if len(f.nodes) == maxWaiting {
			f.full = true
			return
		}
		to := cost + 1
		if inCall && a == Beside {
			to = cost
		}
		for len(f.queues) <= to {
			f.queues = append(f.queues, nil)
		}
		f.nodes = append(f.nodes, node{id, Choice{n, a}})
		f.queues[to] = append(f.queues[to], int32(len(f.nodes)-1))
	}
}
