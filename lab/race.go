package lab

import (
	"fmt"
	"slices"

	"ftracelab/stackmap"
)

// What a CPU is about to do, and what it means when it has done it.
var nextOf = map[stackmap.Op]string{
	stackmap.OpLoad:    "load the slot",
	stackmap.OpClaim:   "claim the slot",
	stackmap.OpElement: "take an element",
	stackmap.OpPublish: "publish the element",
	stackmap.OpCount:   "count the event",
	stackmap.OpDrop:    "count a drop",
}

const getID = "ftrace_stackmap_get_id"

var (
	sayFree = sentence{
		"The slot is empty, so the stack is not in the map as far as this CPU can know. It has not claimed the slot yet: the other CPU may come in between.", getID,
	}
	saySame = sentence{"The slot has this hash, and the addresses behind it are the same: the stack is known.", getID}
	sayPend = sentence{
		"The slot has the hash of this very stack, but it does not lead to the addresses yet. The CPU does not wait, since it could wait in an interrupt for a writer that this interrupt keeps from going on. It tries the next slot instead.", getID,
	}
	sayTaken  = sentence{"Another stack lives here. The next slot is tried; this is linear probing.", getID}
	sayClaims = sentence{"The compare-and-swap has put the hash into the empty slot. Whoever comes now finds it taken, though there is no stack behind it yet.", getID}
	sayFails  = sentence{"Somebody claimed the slot between this CPU's look and its compare-and-swap. Whether for the same stack it cannot know, as the addresses are not there yet. It goes on to the next slot.", getID}
	sayStored = sentence{"An element of the pool is this CPU's, and the addresses are copied into it. Nobody can find it yet.", getID}
	saySpent  = sentence{"The pool has no element left. The slot keeps the hash: it is a gravestone.", getID}
	sayPublic = sentence{"The slot leads to the element. From now on others that bring this stack find it, and get this id.", getID}
	sayTwice  = sentence{"The slot leads to the element. But the same stack is in another slot, too: two ids mean the same stack, and the map has less room. Whoever reads the trace sees no difference, since both ids lead to the same addresses.", getID}
	sayHash   = sentence{"The addresses are hashed; the uppermost bits of the hash are the number of the slot where the search begins.", getID}
	sayOld    = sentence{"The map was reset after this look-up had begun. It has ended in what was the map before, so the id leads nowhere. A kernel waits until no such look-up runs any more before it clears the map.", "ftrace_stackmap_reset"}
)

// racer is a CPU that asks for the same stacks as the other one.
type racer struct {
	cpu   int
	left  [][]uint64 // that it has not begun to ask for
	ips   []uint64   // that it asks for
	look  *stackmap.Lookup
	stale bool // the map was reset since the look-up began
}

func (r *racer) done() bool { return r.look == nil && len(r.left) == 0 }

// race lets two CPUs ask for the same three stacks, which want the same slot. Without a
// choice the second one comes when the first has ended; each step of it is one atomic
// operation.
func (p *player) race() {
	m, state := p.emptyMap()
	if p.err != nil {
		return
	}
	cfg := m.Config()
	stacks := rivals(&cfg, 3)
	both := []*racer{{cpu: 0, left: stacks}, {cpu: 1, left: stacks}}
	turn := 0
	show := p.copy
	p.copy = func(mo *Moment) {
		state.Askers = nil
		for i, r := range both {
			a := Asker{CPU: r.cpu, Turn: i == turn, Next: "nothing more"}
			if r.look != nil {
				a.Stack = r.ips
				op, slot, _ := r.look.Next()
				a.Next, a.Slot = nextOf[op], slot
			} else if !r.done() {
				a.Next = "hash the next stack"
			}
			state.Askers = append(state.Askers, a)
		}
		show(mo)
	}
	p.key = func() uint64 {
		h := hasher(turn)
		for _, r := range both {
			h.add(len(r.left), 0)
			if r.look != nil {
				op, slot, _ := r.look.Next()
				h.add(int(op)+1, int(slot))
			}
			if r.stale {
				h.add(1)
			}
		}
		for s := range m.Slots() {
			h.add(int(s.ID), int(s.Key), len(s.IPs), int(s.Ref))
		}
		return uint64(h)
	}
	p.can = func() []Act {
		var acts []Act
		if !both[1-turn].done() {
			acts = append(acts, Other)
		}
		return append(acts, Empty)
	}
	p.do = func(a Act) {
		if a == Other {
			turn = 1 - turn
			return
		}
		for _, r := range both {
			r.stale = r.look != nil
		}
		p.reset(m, state)
	}
	p.begin(fmt.Sprintf("Two CPUs are going to ask for the same three stacks. All three have the same home, and %d slots are tried. cpu 0 goes first; choose after which step the other CPU goes on.", state.Probes))
	for p.err == nil {
		if both[turn].done() {
			turn = 1 - turn
		}
		if both[turn].done() {
			return
		}
		p.raceStep(m, state, both[turn])
	}
}

// raceStep makes the next operation of r.
func (p *player) raceStep(m *stackmap.Map, state *MapState, r *racer) {
	who := fmt.Sprintf("cpu %d", r.cpu)
	if r.look == nil {
		r.ips, r.left, r.stale = r.left[0], r.left[1:], false
		l, err := m.Lookup(r.cpu, r.ips)
		if err != nil {
			p.err = err
			return
		}
		r.look = l
		_, home, _ := l.Next()
		p.step(who, fmt.Sprintf("hashes a stack to %08x: home is slot %d", l.Key(), home), 0, sayHash)
		return
	}
	s := r.look.Step()
	what, k, say := fmt.Sprintf("loads slot %d: another stack", s.Slot), Kind(0), sayTaken
	switch s.Op {
	case stackmap.OpLoad:
		switch {
		case s.OK:
			what, say = fmt.Sprintf("loads slot %d: this stack", s.Slot), saySame
		case s.Free:
			what, say = fmt.Sprintf("loads slot %d: empty", s.Slot), sayFree
		case s.Pending:
			what, say = fmt.Sprintf("loads slot %d: this hash, and no stack yet", s.Slot), sayPend
		}
	case stackmap.OpClaim:
		what, say = fmt.Sprintf("claims slot %d", s.Slot), sayClaims
		if !s.OK {
			what, k, say = fmt.Sprintf("fails to claim slot %d", s.Slot), Retry, sayFails
		}
	case stackmap.OpElement:
		what, say = "takes an element and copies the stack", sayStored
		if !s.OK {
			what, k, say = "finds no element", Gravestone, saySpent
		}
	case stackmap.OpPublish:
		what, k, say = fmt.Sprintf("publishes the stack: its id is %d", s.Slot), Miss, sayPublic
		state.Slots = slices.Collect(m.Slots())
		if of, ok := state.duplicates()[s.Slot]; ok {
			what, k, say = what+fmt.Sprintf(", and %d as well", of), Miss|Duplicate, sayTwice
		}
	case stackmap.OpCount:
		what, k, say = fmt.Sprintf("counts the event: the id is %d", s.Slot), Hit, sayHit
	case stackmap.OpDrop:
		what, k, say = "has no slot left to try, and counts a drop", Drop, sayNoSlot
	}
	if _, _, more := r.look.Next(); !more {
		r.look = nil
		if r.stale {
			say = sayOld
		}
	}
	p.step(who, what, k, say)
}
