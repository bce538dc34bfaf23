package stackmap_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/internal/explore"
	"ftracelab/stackmap"
)

// run steps a look-up to its end.
func run(l *stackmap.Lookup) (uint32, error) {
	for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
		l.Step()
	}
	return l.Result()
}

// A look-up that is stepped alone does what GetID does: the same ids, errors, slots and
// counters, also where the probes or the pool are used up.
func TestLookupIsGetID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := stackmap.Documented()
		cfg.Bits = stackmap.MinBits
		cfg.Probes = rapid.IntRange(1, 8).Draw(t, "probes")
		cfg.TruncateDeep = rapid.Bool().Draw(t, "truncate")
		cfg.MaxDepth = 12
		fast, err := stackmap.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		slow, err := stackmap.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		kinds := rapid.SampledFrom([]int{10, 300, 3000}).Draw(t, "kinds of stacks")
		for range rapid.IntRange(0, 3000).Draw(t, "stacks") {
			ips := []uint64{uint64(rapid.IntRange(1, kinds).Draw(t, "address"))}
			ips = append(ips, make([]uint64, rapid.SampledFrom([]int{0, 1, 9, 12}).Draw(t, "more"))...)
			id1, err1 := fast.GetID(1, ips)
			l, err2 := slow.Lookup(1, ips)
			id2 := uint32(0)
			if err2 == nil {
				id2, err2 = run(l)
			}
			if id1 != id2 || !errors.Is(err2, err1) {
				t.Fatalf("%d addresses: GetID %d, %v; stepped %d, %v", len(ips), id1, err1, id2, err2)
			}
		}
		if a, b := fast.Stats(), slow.Stats(); a != b {
			t.Fatalf("GetID %+v, stepped %+v", a, b)
		}
		if a, b := slices.Collect(fast.Slots()), slices.Collect(slow.Slots()); !reflect.DeepEqual(a, b) {
			t.Fatalf("slots\n%v\nstepped\n%v", a, b)
		}
	})
}

// Two CPUs that bring the same stack get one id or two, in every interleaving; each id
// leads to the stack, and both events are counted.
func TestTwoLookups(t *testing.T) {
	duplicates := 0
	result, err := explore.Run(0, func(tape *explore.Tape) error {
		cfg := stackmap.Documented()
		cfg.Bits = stackmap.MinBits
		m, err := stackmap.New(cfg)
		if err != nil {
			return err
		}
		ips := []uint64{1, 2, 3}
		var both []*stackmap.Lookup
		for cpu := range 2 {
			l, err := m.Lookup(cpu, ips)
			if err != nil {
				return err
			}
			both = append(both, l)
		}
		for {
			var can []*stackmap.Lookup
			for _, l := range both {
				if _, _, ok := l.Next(); ok {
					can = append(can, l)
				}
			}
			if len(can) == 0 {
				break
			}
			can[tape.Choose(len(can))].Step()
		}
		ids := map[uint32]bool{}
		for _, l := range both {
			id, err := l.Result()
			if err != nil {
				return err
			}
			ids[id] = true
			if stack, ok := m.Stack(id, nil); !ok || !slices.Equal(stack, ips) {
				return fmt.Errorf("id %d is the stack %v, %v", id, stack, ok)
			}
		}
		events := uint32(0)
		for s := range m.Slots() {
			events += s.Ref
		}
		if events != 2 {
			return fmt.Errorf("%d events are counted", events)
		}
		if len(ids) == 2 {
			duplicates++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if duplicates == 0 || duplicates == result.Runs {
		t.Errorf("%d of %d interleavings have two ids", duplicates, result.Runs)
	}
	t.Logf("%v, %d of them with two ids", result, duplicates)
}
