package lab

import (
	"fmt"
	"slices"

	"ftracelab/ringbuf"
	"ftracelab/stackmap"
)

// A Step is one thing that happened.
type Step struct {
	Who  string // task, softirq, irq, nmi, reader, or the CPU
	What string // in a few words
	Kind Kind
}

// Kind says what kind of moment a step leads to, for those who look for the next of it.
type Kind uint32

// The kinds. A step may be of several.
const (
	PageEnd    Kind = 1 << iota // an event does not fit on its page
	Overwrite                   // the oldest page is given up
	Swap                        // the reader has exchanged its page
	Lost                        // an event was not written
	Commit                      // what has been written became readable
	Nested                      // in an interrupt of a writer
	Miss                        // a stack was not in the map
	Hit                         // it was
	Drop                        // it was not, and there was no room for it
	Push                        // a call is on the shadow stack
	Pop                         // it has returned
	Overrun                     // there was no room for it
	Duplicate                   // a stack is in the map twice
	Gravestone                  // a slot is claimed, and there is nothing to put into it
	Reset                       // the stack map is emptied
	Retry                       // a compare-and-swap has failed
	Cookie                      // a stay in the kernel gets its cookie
	Join                        // a user stack comes for the events that wait for it
)

// kindNames are the names of the kinds, in the order of their bits.
var kindNames = []string{"page-end", "overwrite", "swap", "lost", "commit", "nested", "miss", "hit", "drop", "push", "pop", "overrun", "duplicate", "gravestone", "reset", "retry", "cookie", "join"}

// ParseKind returns the kind of that name.
func ParseKind(name string) (Kind, error) {
	for i, s := range kindNames {
		if s == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("lab: no kind of step %q; there are %v", name, kindNames)
}

// A Run is what Play has seen.
type Run struct {
	Place  Place // with the number of the step where it was Last
	Steps  []Step
	Moment Moment
}

// A Moment is a copy of the state at a step. Which of its parts are set depends on
// the scenario.
type Moment struct {
	Place    Place
	Total    int    // steps of the whole run
	Step     Step   // the step that has led here; of step 0 only What
	Why      string // what it means, in a sentence or two
	Kernel   string // the kernel's function, "" if there is none
	Can      []Act  // what may be chosen here
	Ring     *ringbuf.Diagram
	Read     []string // what the reader has got so far
	Map      *MapState
	Shadow   *ShadowState
	Stay     *StayState
	Hist     *HistState
	Command  *CommandState
	snapshot bool
}

// MapState is a stack map.
type MapState struct {
	Slots  []stackmap.Slot // those that are claimed, in the order of their ids
	Size   int             // how many slots there are
	Probes int             // how many are tried for one stack
	Last   []uint64        // the stack that was asked for
	Path   []uint32        // the slots that were looked at for it
	Askers []Asker         // the CPUs that are looking for a stack, where two of them race
	Names  map[uint64]string
}

// An Asker is a CPU in the middle of a look-up.
type Asker struct {
	CPU   int
	Stack []uint64
	Next  string // what it will do, at Slot
	Slot  uint32
	Turn  bool // it goes next
}

// ShadowState is a shadow stack.
type ShadowState struct {
	Words   []uint64
	Depth   int
	Overrun uint32
	Calls   []string // the functions that have not returned, the outermost first
}

// Play runs the scenario of p with its choices to the end.
//
// An error says that there is no such step, or that a choice is not possible where
// it stands.
func Play(p Place) (*Run, error) {
	sc, ok := find(p.Scenario)
	if !ok {
		return nil, fmt.Errorf("lab: no scenario %q; there are %v", p.Scenario, Names())
	}
	if p.Step == Last {
		// The number of the last step is known only after a run.
		r, err := Play(Place{Scenario: p.Scenario, Choices: p.Choices})
		if err != nil {
			return nil, err
		}
		p.Step = len(r.Steps)
	}
	pl := &player{place: p}
	sc.play(pl)
	switch {
	case pl.err != nil:
		return nil, pl.err
	case pl.next < len(p.Choices):
		return nil, fmt.Errorf("lab: choice %d%c: the run ends after step %d", p.Choices[pl.next].After, byte(p.Choices[pl.next].Do), len(pl.steps))
	case !pl.moment.snapshot:
		return nil, fmt.Errorf("lab: step %d: %s has %d steps with these choices", p.Step, p.Scenario, len(pl.steps))
	}
	pl.moment.Total = len(pl.steps)
	return &Run{Place: p, Steps: pl.steps, Moment: pl.moment}, nil
}

// Next is the place of the first step after r's whose kind is one of k, or before
// it if back is set. It reports whether there is one.
func (r *Run) Next(k Kind, back bool) (Place, bool) {
	p := r.Place
	by := 1
	if back {
		by = -1
	}
	for p.Step += by; p.Step > 0 && p.Step <= len(r.Steps); p.Step += by {
		if r.Steps[p.Step-1].Kind&k != 0 {
			return p, true
		}
	}
	return r.Place, false
}

// player plays one place.
type player struct {
	place  Place
	next   int // the choice that comes next
	steps  []Step
	moment Moment
	err    error

	// Of the scenario that is played: what to copy into a moment, what can be
	// chosen, and how it is done.
	copy func(*Moment)
	can  func() []Act
	do   func(Act)

	bytes *written // who wrote which byte, if somebody asks
}

// sentence says what a step means.
type sentence struct{ why, kernel string }

// step is told of each step after it was made.
func (p *player) step(who, what string, k Kind, s sentence) {
	if p.err != nil {
		return
	}
	st := Step{who, what, k}
	p.steps = append(p.steps, st)
	p.reached(st, s)
}

func (p *player) reached(st Step, s sentence) {
	n := len(p.steps)
	if p.bytes != nil {
		p.bytes.look(p, n)
	}
	if n == p.place.Step {
		p.moment = Moment{Place: p.place, Step: st, Why: s.why, Kernel: s.kernel, snapshot: true}
		p.copy(&p.moment)
		if p.can != nil {
			p.moment.Can = p.can()
		}
	}
	for p.err == nil && p.next < len(p.place.Choices) && p.place.Choices[p.next].After == n {
		c := p.place.Choices[p.next]
		p.next++
		if !p.allowed(c.Do) {
			p.err = fmt.Errorf("lab: choice %d%c: after step %d there can be no %v (%s)", c.After, byte(c.Do), n, c.Do, st.What)
			return
		}
		p.do(c.Do)
	}
}

func (p *player) allowed(a Act) bool {
	if p.can == nil {
		return false
	}
	for _, can := range p.can() {
		if can == a {
			return true
		}
	}
	return false
}

// begin is called by a scenario when its state is there.
func (p *player) begin(why string) {
	p.reached(Step{What: "the beginning"}, sentence{why: why})
}

// KindNames are the names of the kinds, as ParseKind reads them.
func KindNames() []string { return slices.Clone(kindNames) }
