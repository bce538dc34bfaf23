package variant

import (
	"slices"
	"sync"
	"sync/atomic"

	"ftracelab/stackmap"
)

// Layout says where a Table puts a stack, and what its id is.
type Layout struct {
	// Sets divides the slots into sets of Config.Probes slots, which should be a power
	// of two. A stack goes into the set of its home. Otherwise it goes into the next
	// free slot after its home.
	Sets bool
	// RobinHood keeps the stacks in the order of their homes: a stack that is far from
	// home takes the slot of one that is nearer to its own. So distances are even, and
	// the search for a stack that is not there ends early. Stacks move, so their slots
	// cannot be their ids.
	RobinHood bool
	// Numbered gives out ids in the order in which stacks come, from 0. Otherwise
	// the id is the slot.
	Numbered bool
}

// Table is a map in which no stack is twice, however many CPUs bring it at the
// same time. It is linearizable.
//
// A lookup takes no lock. A slot that was taken is never empty again, and an
// element never changes, so what a lookup finds is right. It may miss a stack
// that is being stored or moved; so a lookup that found nothing is done again
// under the lock, before the stack is stored.
type Table struct {
	cfg    stackmap.Config
	layout Layout
	shift  uint   // key >> shift is the home slot
	mask   uint32 // slots - 1

	// slots are stored under mu, loaded by all. They publish elements.
	slots []atomic.Pointer[element]

	mu     sync.Mutex
	stored []*element // in the order in which they came
	words  uint64     // addresses of all of them
}

// element is one stack. It does not change once it is in a slot.
type element struct {
	key, id uint32
	ips     []uint64
}

// NewTable returns an empty map. The error names what is wrong with c.
func NewTable(c stackmap.Config, layout Layout) (*Table, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	layout.Numbered = layout.Numbered || layout.RobinHood
	n := slotBits(&c)
	return &Table{cfg: c, layout: layout, shift: 32 - n, mask: 1<<n - 1, slots: make([]atomic.Pointer[element], 1<<n)}, nil
}

// Intern returns the id of ips, which is the same for good. The errors are those of
// [stackmap.Map.GetID]; a stack that was refused for lack of room is always refused.
func (t *Table) Intern(_ int, ips []uint64) (uint32, error) {
	ips, err := admit(&t.cfg, ips)
	if err != nil {
		return 0, err
	}
	key := t.cfg.Key(ips)
	if e := t.find(key, ips); e != nil {
		return e.id, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.find(key, ips); e != nil {
		return e.id, nil
	}
	if len(t.stored) == 1<<t.cfg.Bits {
		return 0, stackmap.ErrNoSpace
	}
	at, ok := t.room(key)
	if !ok {
		return 0, stackmap.ErrNoSpace
	}
	e := &element{key: key, id: at, ips: slices.Clone(ips)}
	if t.layout.Numbered {
		e.id = uint32(len(t.stored))
	}
	t.slots[at].Store(e)
	t.stored = append(t.stored, e)
	t.words += uint64(len(ips))
	return e.id, nil
}

// slot is the n-th slot that is tried for a key.
func (t *Table) slot(key, n uint32) uint32 {
	if t.layout.Sets {
		return key>>t.shift ^ n
	}
	return (key>>t.shift + n) & t.mask
}

// distance is how far the element in a slot is from its home.
func (t *Table) distance(e *element, at uint32) uint32 { return (at - e.key>>t.shift) & t.mask }

// find returns the element of a stack, or nil.
func (t *Table) find(key uint32, ips []uint64) *element {
	for n := range uint32(t.cfg.Probes) {
		at := t.slot(key, n)
		e := t.slots[at].Load()
		if e == nil || t.layout.RobinHood && t.distance(e, at) < n {
			return nil // the stack would be here
		}
		if e.key == key && slices.Equal(e.ips, ips) {
			return e
		}
	}
	return nil
}

// room returns the slot for a new key. If that is still in use, its element has been
// moved on: it can be found in the next one.
func (t *Table) room(key uint32) (at uint32, ok bool) {
	for n := range uint32(t.cfg.Probes) {
		at = t.slot(key, n)
		e := t.slots[at].Load()
		if e == nil {
			return at, true
		}
		if t.layout.RobinHood && t.distance(e, at) < n {
			return at, t.push(at)
		}
	}
	return 0, false
}

// push moves the elements from a slot up to the next empty slot on by one. It does
// nothing and returns false if one of them would get too far from home.
//
// The last element is moved first, so that each is in at least one slot at any time.
func (t *Table) push(from uint32) bool {
	end := from
	for e := t.slots[end].Load(); e != nil; e = t.slots[end].Load() {
		if t.distance(e, end)+1 == uint32(t.cfg.Probes) {
			return false
		}
		end = (end + 1) & t.mask
	}
	for end != from {
		before := (end - 1) & t.mask
		t.slots[end].Store(t.slots[before].Load())
		end = before
	}
	return true
}

// Stack appends the addresses of id to dst; it returns false if no stack has this id.
func (t *Table) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	var e *element
	if !t.layout.Numbered {
		if id <= t.mask {
			e = t.slots[id].Load()
		}
	} else {
		t.mu.Lock()
		if uint64(id) < uint64(len(t.stored)) {
			e = t.stored[id]
		}
		t.mu.Unlock()
	}
	if e == nil {
		return dst, false
	}
	return append(dst, e.ips...), true
}

// numberedSlot is the size of a slot that has a key and the number of an element
// instead of a pointer to it.
const numberedSlot = 8

// Cost is what a kernel would spend on the map.
func (t *Table) Cost() stackmap.Cost {
	t.mu.Lock()
	defer t.mu.Unlock()
	cost := t.cfg.Cost(uint64(len(t.stored)), t.words)
	if t.layout.Numbered {
		cost.Table = stackmap.AreaSize(numberedSlot * cost.Slots)
	}
	return cost
}
