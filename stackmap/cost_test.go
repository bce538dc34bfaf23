package stackmap

import (
	"errors"
	"testing"
)

// TestPools: an eager pool costs the same whatever it holds; a lazy one the pages that
// were touched, as much as the eager one when it is full; a packed one no address more
// than was stored.
func TestPools(t *testing.T) {
	const full = 4096 + 1024*520
	for _, v := range []struct {
		pool            Pool
		empty, one, all uint64
	}{
		{EagerPool, full, full, full},
		{LazyPool, 4096, 4096 + 4096, full},
		{PackedPool, 4096, 4096 + 4096, 4096 + 1024*(8+8*10)},
	} {
		m := newMap(t, Config{Bits: 10, Pool: v.pool})
		check := func(what string, want uint64) {
			if c := m.Cost(); c.Pool != want || c.Table != 4096+2048*16 {
				t.Errorf("%v, %s: %+v, want a pool of %d", v.pool, what, c, want)
			}
		}
		check("empty", v.empty)
		for n := range 1024 {
			if _, err := m.GetID(0, stackOf(n, 10)); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				check("one stack", v.one)
			}
		}
		check("full", v.all)
	}
	if _, err := New(Config{Pool: PackedPool + 1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unknown pool: %v", err)
	}
}

// TestDuplicates counts a stack that two CPUs stored at the same moment: the second one
// saw the slot claimed, and no element yet.
func TestDuplicates(t *testing.T) {
	m := newMap(t, Config{Bits: 10})
	for n := range 3 {
		m.GetID(0, stackOf(n, 10))
	}
	if n := Duplicates(m); n != 0 {
		t.Errorf("%d duplicates of 3 stacks", n)
	}
	g := m.current.Load()
	id, _ := m.GetID(0, stackOf(1, 10))
	s := &g.segments[id>>segmentBits].Load()[id%(1<<segmentBits)]
	first := s.Load()
	s.Store(first >> 32 << 32) // the hash, and no place yet
	m.GetID(1, stackOf(1, 10))
	s.Store(first)
	if n := Duplicates(m); n != 1 {
		t.Errorf("%d duplicates, want 1", n)
	}
	if n := Duplicates(m, m); n != 5 {
		t.Errorf("%d duplicates in the same map twice, want 5", n)
	}
}
