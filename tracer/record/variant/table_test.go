package variant

import (
	"errors"
	"testing"

	"ftracelab/stackmap"
)

// oneAddress is the n-th stack of one address.
func oneAddress(n int) []uint64 { return []uint64{0xffffffff81000000 + uint64(n)*0x1357} }

// fill stores stacks until the map is as full as it may get, and returns how many it
// refused.
func fill(t *testing.T, m *Table) (refused int) {
	t.Helper()
	for n := range 1 << m.cfg.Bits {
		if _, err := m.Intern(0, oneAddress(n)); errors.Is(err, stackmap.ErrNoSpace) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return refused
}

// distances returns the sum of the squares of how far stacks are from home, and the
// greatest distance.
func (t *Table) distances() (squares, most uint32) {
	for at := range t.slots {
		if e := t.slots[at].Load(); e != nil {
			d := t.distance(e, uint32(at))
			squares, most = squares+d*d, max(most, d)
		}
	}
	return squares, most
}

// TestRobinHood: every stack is at most one slot further from home than the one before
// it, so they are in the order of their homes; the greatest distance is less than with
// linear placement, which has the same slots in use.
func TestRobinHood(t *testing.T) {
	for seed := range uint32(10) {
		c := stackmap.Config{Bits: 12, Seed: seed}
		robin, err := NewTable(c, Layout{RobinHood: true})
		if err != nil {
			t.Fatal(err)
		}
		linear, err := NewTable(c, Layout{})
		if err != nil {
			t.Fatal(err)
		}
		if fill(t, robin) > 0 || fill(t, linear) > 0 {
			t.Fatal("a map with 64 probes has no room")
		}
		for at := range robin.slots {
			next := uint32(at+1) & robin.mask
			a, b := robin.slots[at].Load(), robin.slots[next].Load()
			if (a == nil) != (linear.slots[at].Load() == nil) {
				t.Fatalf("seed %d, slot %d: only one of the maps uses it", seed, at)
			}
			if b == nil {
				continue
			}
			limit := uint32(0)
			if a != nil {
				limit = robin.distance(a, uint32(at)) + 1
			}
			if robin.distance(b, next) > limit {
				t.Fatalf("seed %d, slot %d: %d from home, at most %d is in order", seed, next, robin.distance(b, next), limit)
			}
		}
		rs, rm := robin.distances()
		ls, lm := linear.distances()
		if rs >= ls || rm >= lm {
			t.Errorf("seed %d: Robin Hood %d (most %d), linear %d (most %d)", seed, rs, rm, ls, lm)
		}
	}
}

// TestRobinHoodLimit: nobody is pushed further than the probes reach, and what is stored
// is still found.
func TestRobinHoodLimit(t *testing.T) {
	m, err := NewTable(stackmap.Config{Bits: 10, Probes: 2}, Layout{RobinHood: true})
	if err != nil {
		t.Fatal(err)
	}
	if refused := fill(t, m); refused == 0 {
		t.Error("two probes are enough for all")
	}
	if _, most := m.distances(); most > 1 {
		t.Errorf("a stack is %d slots from home", most)
	}
	for _, e := range m.stored {
		if m.find(e.key, e.ips) != e {
			t.Errorf("stack %d is not found", e.id)
		}
	}
}

// TestSets: a stack is in the set of its home, and a set that is full refuses more.
func TestSets(t *testing.T) {
	for _, ways := range []int{1, 2, 4} {
		m, err := NewTable(stackmap.Config{Bits: 10, Probes: ways}, Layout{Sets: true})
		if err != nil {
			t.Fatal(err)
		}
		refused := fill(t, m)
		full := map[uint32]bool{}
		for at := range uint32(len(m.slots)) {
			e := m.slots[at].Load()
			if e == nil {
				full[at/uint32(ways)] = true // has room
			} else if e.id != at || e.key>>m.shift/uint32(ways) != at/uint32(ways) {
				t.Fatalf("%d ways: slot %d has the stack of home %d with id %d", ways, at, e.key>>m.shift, e.id)
			}
		}
		for n := range 1 << m.cfg.Bits {
			ips := oneAddress(n)
			key := m.cfg.Key(ips)
			if m.find(key, ips) == nil && full[key>>m.shift/uint32(ways)] {
				t.Fatalf("%d ways: stack %d was refused by a set with room", ways, n)
			}
		}
		t.Logf("%d ways: %d of %d refused", ways, refused, 1<<m.cfg.Bits)
	}
}

// TestNumbered: ids are 0, 1, 2 …, and the slots are half as large.
func TestNumbered(t *testing.T) {
	m, err := NewTable(stackmap.Config{Bits: 10}, Layout{Numbered: true})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1 << 10 {
		if id, err := m.Intern(0, oneAddress(n)); err != nil || int(id) != n {
			t.Fatalf("stack %d: id %d, %v", n, id, err)
		}
	}
	if _, err := m.Intern(0, oneAddress(1<<10)); !errors.Is(err, stackmap.ErrNoSpace) {
		t.Errorf("one more: %v", err)
	}
	if c := m.Cost(); c.Table != 4096+8*2048 || c.Entries != 1024 {
		t.Errorf("%+v", c)
	}
}
