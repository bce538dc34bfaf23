package lab

import (
	"errors"
	"fmt"
	"strings"

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
	PageEnd Kind = 1 << iota
	Overwrite
	Swap
	Lost
	Commit
	Nested
	Miss
	Hit
	Drop
	Push
	Pop
	Overrun
	Duplicate
	Gravestone
	Reset
	Retry
	Cookie
	Join
	Left
	SwapFails
	Spin
)

// kinds are the names of the kinds, in the order of their bits, and what they mean.
var kinds = []struct{ name, about string }{
	{"page-end", "an event does not fit on its page"},
	{"overwrite", "the oldest page is given up"},
	{"swap", "the reader has exchanged its page"},
	{"lost", "an event was not written, or the record of a stack"},
	{"commit", "what has been written became readable"},
	{"nested", "in an interrupt of a writer"},
	{"miss", "a stack was not in the map"},
	{"hit", "it was"},
	{"drop", "it was not, and there was no room for it"},
	{"push", "a call is on the shadow stack"},
	{"pop", "it has returned"},
	{"overrun", "there was no room for it"},
	{"duplicate", "a stack is in the map twice"},
	{"gravestone", "a slot is claimed, and there is nothing to put into it"},
	{"reset", "the stack map is emptied, or a histogram"},
	{"retry", "a compare-and-swap has failed"},
	{"cookie", "a stay in the kernel gets its cookie"},
	{"join", "a user stack comes for the events that wait for it"},
	{"left", "a finished event is left to an outer writer to be made readable"},
	{"swap-fails", "the reader's exchange of pages has failed"},
	{"spin", "the reader waits for a writer that moves the head"},
}

// ParseKind returns the kind of that name.
func ParseKind(name string) (Kind, error) {
	for i, k := range kinds {
		if k.name == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("lab: no kind of step %q; there are %s", name, strings.Join(KindNames(), ", "))
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
	Writers  []Writer // those who are writing into the ring, the outermost first
	Left     Writer   // who has just ended an event; Who is "" if nobody has
	Reading  Stage    // how far the reader is in its call, or that its last one has ended; "" before the first
	Written  uint64   // events that were given to Commit so far
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
	About   []string // what each word is
	Depth   int
	Overrun uint32
	Calls   []string // the functions that have not returned, the outermost first
}

// Play runs the scenario of p with its choices to the end. Another step of a run that was
// played just now comes sooner: its list of steps is kept, so that the way to the step
// needs no words, and ends there. The caller must not change Steps.
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
	l, known := recentLists.get(p)
	pl := &player{place: p, listed: known, ends: l.ends, known: l.marks}
	sc.play(pl)
	if !known {
		l = list{pl.steps[:len(pl.steps):len(pl.steps)], pl.ends, pl.marks}
	}
	steps := l.steps
	switch {
	case pl.err != nil && !errors.Is(pl.err, errEnough):
		return nil, pl.err
	case pl.next < len(p.Choices) && !known:
		return nil, fmt.Errorf("lab: choice %d%c: the run ends after step %d", p.Choices[pl.next].After, byte(p.Choices[pl.next].Do), len(steps))
	}
	recentLists.put(p, l)
	if !pl.moment.snapshot {
		return nil, fmt.Errorf("lab: step %d: %s has %d steps with these choices", p.Step, p.Scenario, len(steps))
	}
	pl.moment.Total = len(steps)
	return &Run{Place: p, Steps: steps, Moment: pl.moment}, nil
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
	made   int // steps so far
	steps  []Step
	listed bool   // the steps are known, and need not be listed again
	ends   []int  // the steps with which an outermost event ends; if listed, those that are still to come
	marks  []mark // made on the way
	known  []mark // those of an earlier run, if listed: the way to the step may begin at one
	moment Moment
	err    error
	ending bool // what happens now is what nobody has chosen: a reader ends its call

	// Of the scenario that is played: what to copy into a moment, what can be
	// chosen, and how it is done.
	copy func(*Moment)
	can  func() []Act
	do   func(Act)

	// values are the numbers of the state that a condition may compare, and key is a hash
	// of all that decides what can happen next, without times; nil: there is none.
	values map[string]func() uint64
	key    func() uint64

	// look is told of each step, if somebody looks.
	look func(n int, st Step)
}

// errEnough ends a run of which everything has been seen.
var errEnough = errors.New("lab: enough")

// sentence says what a step means.
type sentence struct{ why, kernel string }

// step is told of each step after it was made.
func (p *player) step(who, what string, k Kind, s sentence) {
	if p.err != nil {
		return
	}
	st := Step{who, what, k}
	p.made++
	if !p.listed {
		p.steps = append(p.steps, st)
	}
	p.reached(st, s)
}

// passes counts a step of which nobody wants to know, and says so. Where the words for
// a step cost time it is asked before.
func (p *player) passes() bool {
	if p.err != nil {
		return true
	}
	n := p.made + 1
	if !p.listed || p.look != nil || n == p.place.Step || p.next < len(p.place.Choices) && p.place.Choices[p.next].After == n {
		return false
	}
	p.made = n
	return true
}

// ended is told that an event has ended that interrupted nothing.
func (p *player) ended() {
	if !p.listed {
		p.ends = append(p.ends, p.made)
	}
}

// skips reports whether nobody wants to know anything of the event that begins now, up to
// the step with which it ends. That step is then made.
func (p *player) skips() bool {
	if !p.listed || p.look != nil || p.err != nil {
		return false
	}
	for len(p.ends) > 0 && p.ends[0] <= p.made {
		p.ends = p.ends[1:]
	}
	if len(p.ends) == 0 || p.ends[0] >= p.place.Step || p.next < len(p.place.Choices) && p.place.Choices[p.next].After <= p.ends[0] {
		return false
	}
	p.made = p.ends[0]
	return true
}

func (p *player) reached(st Step, s sentence) {
	n := p.made
	if p.look != nil {
		p.look(n, st)
	}
	if n == p.place.Step {
		p.moment = Moment{Place: p.place, Step: st, Why: s.why, Kernel: s.kernel, snapshot: true}
		p.copy(&p.moment)
		if p.can != nil {
			p.moment.Can = p.can()
		}
		if p.listed && p.look == nil {
			p.err = errEnough
			return
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
func KindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// KindAbout says in a few words what the kind of that name is; "" if there is none.
func KindAbout(name string) string {
	for _, k := range kinds {
		if k.name == name {
			return k.about
		}
	}
	return ""
}
