package variant_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/stackmap"
	"ftracelab/tracer/record"
	"ftracelab/tracer/record/variant"
)

// stackOf is the n-th stack; stacks differ in their depths.
func stackOf(n int) []uint64 {
	ips := make([]uint64, 1+n%20)
	for d := range ips {
		ips[d] = 0xffffffff81000000 + uint64(n)<<12 + uint64(d)
	}
	return ips
}

// TestMaps holds every map of a design against what an Interner promises: one id for a
// stack, which stands for it; no error but lack of room; no fault that is not counted.
func TestMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(mapped()).Draw(t, "design")
		probes := rapid.IntRange(1, 16).Draw(t, "probes")
		m := open(t, name, func(c *record.MapConfig) {
			c.Bits, c.Seed, c.Probes = 10, rapid.Uint32().Draw(t, "seed"), probes
		})
		ids, given := map[int][]uint32{}, map[uint32]int{}
		unique := rapid.SampledFrom([]int{50, 900, 1500}).Draw(t, "unique")
		step := rapid.SampledFrom([]int{1, 7, 641}).Draw(t, "step")
		refused := 0
		for n := range 3 * unique {
			s := n * step % unique
			id, err := m.Intern(0, stackOf(s))
			if err != nil {
				if !errors.Is(err, record.ErrNoSpace) {
					t.Fatal(err)
				}
				refused++
				continue
			}
			ids[s] = append(ids[s], id)
			given[id] = s
			if got, ok := m.Stack(id, nil); !ok || !slices.Equal(got, stackOf(s)) {
				t.Fatalf("stack %d: just stored, its id stands for %#x, %v", s, got, ok)
			}
		}
		var lost uint64
		for s, of := range ids {
			for _, id := range of {
				if got, ok := m.Stack(id, nil); !ok || !slices.Equal(got, stackOf(s)) {
					lost++
				}
			}
		}
		var f record.Faults
		if m, ok := m.(record.Faulty); ok {
			f = m.Faults()
		}
		if f.Lost != lost || f.Duplicates != 0 {
			t.Fatalf("%s: %+v, and %d ids are lost", name, f, lost)
		}
		c := m.Cost()
		if lost == 0 && c.Entries != uint64(len(ids)) || c.Entries > c.Capacity || c.Table == 0 || c.Pool == 0 {
			t.Fatalf("%s with %d stacks: %+v", name, len(ids), c)
		}
		for s, of := range ids {
			if lost == 0 && len(slices.Compact(of)) != 1 {
				t.Fatalf("stack %d has the ids %d", s, of)
			}
		}
		if probed := name != "two-way" && !strings.HasPrefix(name, "bpf"); probed && unique == 50 && probes > 8 && refused > 0 {
			t.Fatalf("%s: %d of 50 stacks refused", name, refused)
		}
	})
}

// mapped are the names of the designs with a map.
func mapped() (names []string) {
	for _, name := range record.DesignNames() {
		if d, _ := record.NamedDesign(name, 0, 0); d.Kernel == record.StackID {
			names = append(names, name)
		}
	}
	return names
}

// open opens the map of a design.
func open(t interface{ Fatal(...any) }, name string, set func(*record.MapConfig)) record.Interner {
	d, err := record.NamedDesign(name, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	set(&d.KernelMap)
	m, err := d.KernelMap.Open()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestConcurrent brings the same stacks from several goroutines in different orders.
// Without faults, all get the same id for the same stack, and the duplicates that are
// counted are the ids that a stack has too many.
func TestConcurrent(t *testing.T) {
	const workers, unique = 4, 401
	for _, name := range mapped() {
		t.Run(name, func(t *testing.T) {
			m := open(t, name, func(*record.MapConfig) {})
			var ids [workers][unique]uint32
			var refused [workers]int
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for range 3 {
						for n := range unique {
							s := n * (2*w + 1) % unique
							id, err := m.Intern(w, stackOf(s))
							switch {
							case errors.Is(err, record.ErrNoSpace):
								refused[w]++
								id = ^uint32(0)
							case err != nil:
								t.Error(err)
							}
							ids[w][s] = id
							m.Stack(id, nil)
							if n == unique/2 {
								m.Cost()
							}
						}
					}
				})
			}
			wg.Wait()
			f := record.Faults{}
			if m, ok := m.(record.Faulty); ok {
				f = m.Faults()
			}
			t.Logf("%+v, refused %v", f, refused)
			if f.Lost > 0 || f.Replaced > 0 {
				return
			}
			different := map[uint32]bool{}
			stacks := 0
			for s := range unique {
				had := false
				for w := range workers {
					id := ids[w][s]
					if id == ^uint32(0) {
						continue
					}
					had = true
					different[id] = true
					if got, ok := m.Stack(id, nil); !ok || !slices.Equal(got, stackOf(s)) {
						t.Fatalf("worker %d, stack %d: id %d stands for %#x, %v", w, s, id, got, ok)
					}
				}
				if had {
					stacks++
				}
			}
			extra := uint64(len(different) - stacks)
			if extra > f.Duplicates || m.Cost().Entries != uint64(stacks)+f.Duplicates {
				t.Errorf("%d stacks have %d ids, %+v, %+v", stacks, len(different), f, m.Cost())
			}
			if _, exact := m.(*variant.Table); exact && extra > 0 {
				t.Errorf("%d stacks have %d ids", stacks, len(different))
			}
		})
	}
}

// TestHitAllocatesNothing: a stack that is known costs no memory.
func TestHitAllocatesNothing(t *testing.T) {
	ips := stackOf(16)
	for _, name := range mapped() {
		m := open(t, name, func(*record.MapConfig) {})
		if n := testing.AllocsPerRun(100, func() { m.Intern(3, ips) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestRefuse: what is no stack for a map gets no id and no drop.
func TestRefuse(t *testing.T) {
	deep := make([]uint64, 65)
	for _, name := range mapped() {
		for _, cut := range []bool{false, true} {
			m := open(t, name, func(c *record.MapConfig) { c.TruncateDeep = cut })
			if _, err := m.Intern(0, nil); !errors.Is(err, stackmap.ErrInvalid) {
				t.Errorf("%s: an empty stack: %v", name, err)
			}
			id, err := m.Intern(0, deep)
			if !cut && !errors.Is(err, stackmap.ErrTooDeep) {
				t.Errorf("%s: a deep stack: %v", name, err)
			}
			if got, ok := m.Stack(id, nil); cut && (err != nil || !ok || len(got) != 64) {
				t.Errorf("%s: a deep stack became %d addresses, %v", name, len(got), err)
			}
			for _, id := range []uint32{1 << 30, ^uint32(0)} {
				if got, ok := m.Stack(id, nil); ok {
					t.Errorf("%s: id %d stands for %#x", name, id, got)
				}
			}
		}
		d, _ := record.NamedDesign(name, 10, 1)
		d.KernelMap.Probes = -1
		if m, err := d.KernelMap.Open(); !errors.Is(err, stackmap.ErrInvalid) || m != nil {
			t.Errorf("%s with -1 probes: %v, %v", name, m, err)
		}
	}
}
