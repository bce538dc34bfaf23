package variant

import (
	"errors"
	"slices"
	"testing"

	"ftracelab/stackmap"
)

// colliding returns that many stacks whose keys agree in the bits that choose their
// place.
func colliding(c stackmap.Config, count int, place func(key uint32) uint32) (stacks [][]uint64) {
	c, _ = c.Complete()
	first := oneAddress(0)
	want := place(c.Key(first))
	for n := 0; len(stacks) < count; n++ {
		if ips := oneAddress(n); place(c.Key(ips)) == want {
			stacks = append(stacks, ips)
		}
	}
	return stacks
}

// TestBPF walks through __bpf_get_stackid: a bucket is by the lower bits of the hash; it
// is refused or replaced; without a free element nothing is replaced.
func TestBPF(t *testing.T) {
	c := stackmap.Config{Bits: 10}
	pair := colliding(c, 2, func(key uint32) uint32 { return key & 1023 })
	for _, reuse := range []bool{false, true} {
		m, err := NewBPF(c, reuse)
		if err != nil {
			t.Fatal(err)
		}
		first, err := m.Intern(0, pair[0])
		if want := m.cfg.Key(pair[0]) & 1023; err != nil || first != want {
			t.Fatalf("id %d, want bucket %d: %v", first, want, err)
		}
		m.Intern(0, pair[0])
		second, err := m.Intern(0, pair[1])
		got, _ := m.Stack(first, nil)
		if !reuse {
			if !errors.Is(err, stackmap.ErrNoSpace) || !slices.Equal(got, pair[0]) || m.Faults() != (Faults{}) {
				t.Errorf("refuse: %v, the bucket has %#x, %+v", err, got, m.Faults())
			}
			continue
		}
		if err != nil || second != first || !slices.Equal(got, pair[1]) || m.Faults() != (Faults{Replaced: 1, Lost: 2}) {
			t.Errorf("replace: id %d, %v, the bucket has %#x, %+v", second, err, got, m.Faults())
		}
		if m.Intern(0, pair[0]); m.Faults() != (Faults{Replaced: 2, Lost: 1}) {
			t.Errorf("replaced back: %+v", m.Faults())
		}
		for n := 0; m.Cost().Entries < 1024; n++ {
			m.Intern(0, oneAddress(n))
		}
		before := m.Faults()
		if _, err := m.Intern(0, pair[1]); !errors.Is(err, stackmap.ErrNoSpace) || m.Faults() != before {
			t.Errorf("all elements are in use, and a stack is replaced: %v, %+v", err, m.Faults())
		}
	}
	m, _ := NewBPF(c, false)
	if c := m.Cost(); c.Table != 4096+8*1024 || c.Pool != 4096+1024*(16+8*64) || c.Export != 0 {
		t.Errorf("%+v", c)
	}
}

// TestAging: the least recently used stack goes; its id stands for nothing from then on,
// and it gets another one when it comes back.
func TestAging(t *testing.T) {
	c := stackmap.Config{Bits: 10, Probes: 2}
	three := colliding(c, 3, func(key uint32) uint32 { return key >> (31 - 10) })
	m, err := NewAging(c)
	if err != nil {
		t.Fatal(err)
	}
	id := func(n int) uint32 {
		t.Helper()
		id, err := m.Intern(0, three[n])
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a, b := id(0), id(1)
	if id(0) != a {
		t.Error("a stack that was not forgotten has another id")
	}
	c2 := id(2) // takes the place of 1, which was used before 0
	for what, v := range map[string]struct {
		id   uint32
		want []uint64
	}{"kept": {a, three[0]}, "forgotten": {b, nil}, "new": {c2, three[2]}} {
		if got, ok := m.Stack(v.id, nil); ok != (v.want != nil) || !slices.Equal(got, v.want) {
			t.Errorf("%s: id %d stands for %#x, %v", what, v.id, got, ok)
		}
	}
	if again := id(1); again == b || again == a || again == c2 {
		t.Errorf("1 came back as %d; %d, %d and %d were given out", again, a, b, c2)
	}
	if f := m.Faults(); f.Replaced != 2 || f.Lost != 3 {
		t.Errorf("%+v", f) // b once, a twice
	}
}

// TestAgingGenerations: no id is given out for two stacks, and a slot that has used up
// its ids keeps its stack.
func TestAgingGenerations(t *testing.T) {
	c := stackmap.Config{Bits: 18, Probes: 1}
	two := colliding(c, 2, func(key uint32) uint32 { return key >> (31 - 18) })
	m, err := NewAging(c)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for n := range 1 << (31 - 19) {
		id, err := m.Intern(0, two[n%2])
		if err != nil || seen[id] || id >= 1<<31 {
			t.Fatalf("generation %d: id %#x, %v", n, id, err)
		}
		seen[id] = true
	}
	if _, err := m.Intern(0, two[0]); !errors.Is(err, stackmap.ErrNoSpace) {
		t.Errorf("after the last generation: %v", err)
	}
}

// TestAgingPool: with all elements in use a new stack takes the element of one in its
// way, though there are empty slots.
func TestAgingPool(t *testing.T) {
	m, err := NewAging(stackmap.Config{Bits: 10})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := range 4096 {
		if _, err := m.Intern(0, oneAddress(n)); err != nil {
			refused++ // its home was empty
		}
	}
	if c, f := m.Cost(), m.Faults(); c.Entries != 1024 || f.Replaced+uint64(refused) != 4096-1024 || f.Lost != f.Replaced {
		t.Errorf("%+v, %+v, %d refused", c, f, refused)
	}
}

// TestPerCPU: a stack has an id on each CPU, which says which CPU it is.
func TestPerCPU(t *testing.T) {
	m, err := NewPerCPU(stackmap.Config{Bits: 10})
	if err != nil {
		t.Fatal(err)
	}
	slots := map[uint32]bool{}
	for _, cpu := range []int{0, 3, 8191} {
		for range 2 {
			id, err := m.Intern(cpu, oneAddress(1))
			if err != nil || int(id>>11) != cpu {
				t.Fatalf("cpu %d: id %#x, %v", cpu, id, err)
			}
			slots[id&2047] = true
			if got, ok := m.Stack(id, nil); !ok || !slices.Equal(got, oneAddress(1)) {
				t.Errorf("cpu %d: %#x, %v", cpu, got, ok)
			}
		}
	}
	if len(slots) != 1 {
		t.Errorf("maps with the same seed have it in different slots: %v", slots)
	}
	m.Intern(3, oneAddress(2))
	one := stackmap.Config{Bits: 10}.Cost(2, 2)
	if c, f := m.Cost(), m.Faults(); c.Entries != 4 || f != (Faults{Duplicates: 2}) || c.Pool != 3*one.Pool || c.Table != 3*one.Table {
		t.Errorf("%+v, %+v", c, f)
	}
	for _, cpu := range []int{-1, 8192} {
		if _, err := m.Intern(cpu, oneAddress(1)); !errors.Is(err, stackmap.ErrInvalid) {
			t.Errorf("cpu %d: %v", cpu, err)
		}
	}
	if _, ok := m.Stack(5<<11, nil); ok {
		t.Error("a CPU that recorded nothing has a stack")
	}
}
