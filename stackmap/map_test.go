package stackmap

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// stackOf is the i-th of a set of distinct stacks.
func stackOf(i, depth int) []uint64 {
	ips := make([]uint64, depth)
	for j := range ips {
		ips[j] = 0xffffffff81000000 + uint64(i*7919+j*64)
	}
	return ips
}

func newMap(t testing.TB, cfg Config) *Map {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// model is what the map promises of itself, without a hash table: one id per
// stack, counts, and a bound.
type model struct {
	ids       map[string]uint32
	stacks    map[uint32]Record
	successes uint64
	drops     uint64
}

func newModel() *model {
	return &model{ids: map[string]uint32{}, stacks: map[uint32]Record{}}
}

func modelKey(ips []uint64) string {
	var b []byte
	for _, ip := range ips {
		b = binary.BigEndian.AppendUint64(b, ip)
	}
	return string(b)
}

// TestModel compares the map with a Go map through offers and resets. Few probes
// and a hash of few values make it collide.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := rapid.SampledFrom([]Config{V2(), V4(), Documented()}).Draw(t, "preset")
		cfg.Bits = MinBits
		cfg.Seed = rapid.Uint32().Draw(t, "seed")
		cfg.Hash = rapid.SampledFrom(Hashes()).Draw(t, "hash")
		cfg.Probes = rapid.SampledFrom([]int{1, 2, 64}).Draw(t, "probes")
		cfg.MaxDepth = rapid.SampledFrom([]int{1, 3, 64}).Draw(t, "depth")
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		mod := newModel()
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { mod.check(t, m) },
			"offer": func(t *rapid.T) {
				ips := rapid.SliceOfN(rapid.Uint64Range(0, 3), 0, cfg.MaxDepth+2).Draw(t, "ips")
				mod.offer(t, m, ips)
			},
			"flood": func(t *rapid.T) {
				first := rapid.IntRange(0, 3000).Draw(t, "first")
				for i := range 400 {
					mod.offer(t, m, stackOf(first+i, 1))
				}
			},
			"reset": func(t *rapid.T) {
				if err := m.Reset(nil); err != nil {
					t.Fatal(err)
				}
				mod = newModel()
			},
		})
	})
}

func (mod *model) offer(t *rapid.T, m *Map, ips []uint64) {
	cfg := m.Config()
	id, err := m.GetID(len(ips), ips)
	switch {
	case len(ips) == 0:
		if !errors.Is(err, ErrInvalid) {
			t.Fatalf("empty stack: %v", err)
		}
		return
	case len(ips) > cfg.MaxDepth && !cfg.TruncateDeep:
		if !errors.Is(err, ErrTooDeep) {
			t.Fatalf("%d frames: %v", len(ips), err)
		}
		return
	}
	ips = ips[:min(len(ips), cfg.MaxDepth)]
	known, found := mod.ids[modelKey(ips)]
	switch {
	case errors.Is(err, ErrNoSpace):
		if found {
			t.Fatalf("a known stack (%d) found no space", known)
		}
		mod.drops++
	case err != nil:
		t.Fatal(err)
	case found && id != known:
		t.Fatalf("id %d, before it was %d", id, known)
	default:
		if other, taken := mod.stacks[id]; taken && !found {
			t.Fatalf("id %d is of %#x already", id, other.IPs)
		}
		home := cfg.key(ips) >> m.shift
		if int((id-home)&m.mask) >= cfg.Probes {
			t.Fatalf("id %d is %d probes from home", id, (id-home)&m.mask)
		}
		mod.ids[modelKey(ips)] = id
		mod.stacks[id] = Record{ID: id, Ref: mod.stacks[id].Ref + 1, IPs: slices.Clone(ips)}
		mod.successes++
	}
}

func (mod *model) check(t *rapid.T, m *Map) {
	want := Stats{Entries: uint64(len(mod.ids)), Capacity: 1024, TableSize: 2048, Successes: mod.successes, Drops: mod.drops}
	if got := m.Stats(); got != want {
		t.Fatalf("stats %+v, want %+v", got, want)
	}
	stacks, last := 0, -1
	for s := range m.Slots() {
		if int(s.ID) <= last {
			t.Fatalf("slot %d after %d", s.ID, last)
		}
		last = int(s.ID)
		if s.IPs == nil {
			continue
		}
		stacks++
		if w := mod.stacks[s.ID]; w.Ref != s.Ref || !slices.Equal(w.IPs, s.IPs) {
			t.Fatalf("slot %d: %+v, want %+v", s.ID, s, w)
		}
		if got, ok := m.Stack(s.ID, nil); !ok || !slices.Equal(got, s.IPs) {
			t.Fatalf("stack %d: %#x, %v", s.ID, got, ok)
		}
	}
	if stacks != len(mod.stacks) {
		t.Fatalf("%d stacks, want %d", stacks, len(mod.stacks))
	}
}

// TestGravestones fills the pool and shows what new stacks do then.
func TestGravestones(t *testing.T) {
	m := newMap(t, Config{Bits: MinBits})
	for i := range 1024 {
		if _, err := m.GetID(0, stackOf(i, 4)); err != nil {
			t.Fatalf("stack %d: %v", i, err)
		}
	}
	for i := 1024; i < 9000; i++ {
		if _, err := m.GetID(0, stackOf(i, 4)); !errors.Is(err, ErrNoSpace) {
			t.Fatalf("stack %d: %v", i, err)
		}
	}
	var claimed, empty int
	for s := range m.Slots() {
		claimed++
		if s.IPs == nil {
			empty++
		}
	}
	if claimed != 2048 || empty != 1024 {
		t.Errorf("%d slots claimed, %d of them empty; want 2048, 1024", claimed, empty)
	}
	for i := range 1024 {
		if _, err := m.GetID(0, stackOf(i, 4)); err != nil {
			t.Fatalf("known stack %d: %v", i, err)
		}
	}
	want := Stats{Entries: 1024, Capacity: 1024, TableSize: 2048, Successes: 2048, Drops: 9000 - 1024}
	if got := m.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSaturation brings ref_count and a counter to their ends.
func TestSaturation(t *testing.T) {
	for _, v := range []struct {
		cfg       Config
		ref       uint32
		successes uint64
	}{
		{V2(), math.MaxInt32 + 2, math.MaxInt64 + 2},
		{V4(), math.MaxInt32, math.MaxInt64},
		{Documented(), math.MaxInt32, math.MaxInt64},
	} {
		m := newMap(t, v.cfg)
		ips := []uint64{1, 2}
		hits := func(n int) {
			for range n {
				if _, err := m.GetID(3, ips); err != nil {
					t.Fatal(err)
				}
			}
		}
		hits(2) // the second one is counted
		events := &m.current.Load().counters.cpu(3).hits[0].Load()[0]
		events.Store(math.MaxInt32 - 2)
		hits(3)
		for s := range m.Slots() {
			if s.Ref != v.ref {
				t.Errorf("%s: ref_count %d, want %d", v.cfg.Preset, s.Ref, v.ref)
			}
		}
		events.Store(math.MaxInt64 - 2)
		hits(3)
		if got := m.Stats().Successes; got != v.successes {
			t.Errorf("%s: successes %d, want %d", v.cfg.Preset, got, v.successes)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, v := range []struct{ bits, want int }{{0, 14}, {-1, 10}, {9, 10}, {10, 10}, {18, 18}, {30, 18}} {
		if m := newMap(t, Config{Bits: v.bits}); m.Config().Bits != v.want {
			t.Errorf("bits %d became %d, want %d", v.bits, m.Config().Bits, v.want)
		}
	}
	for _, cfg := range []Config{
		{Probes: -1}, {Bits: 10, Probes: 2049}, {MaxDepth: -1}, {MaxDepth: MaxDepth + 1}, {Hash: Mul64 + 1},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// TestParallel lets goroutines insert the same stacks at once. Afterwards every
// id names the stack it was given for; duplicates may exist, and then they are
// whole: entries and references add up.
func TestParallel(t *testing.T) {
	const cpus, uniques, rounds = 8, 700, 12
	m := newMap(t, Config{Bits: MinBits, SaturateRefs: true})
	var failed atomic.Bool
	var wg sync.WaitGroup
	for cpu := range cpus {
		wg.Go(func() {
			var got []uint64
			for n := range uniques * rounds {
				i := (n*31 + cpu*n) % uniques
				ips := stackOf(i, 1+i%defaultDepth)
				id, err := m.GetID(cpu, ips)
				if err != nil {
					continue // duplicates may have taken the last elements
				}
				var ok bool
				got, ok = m.Stack(id, got[:0])
				if !ok || !slices.Equal(got, ips) {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() {
		t.Error("an id names another stack")
	}
	s := m.Stats()
	if s.Successes+s.Drops != cpus*uniques*rounds {
		t.Errorf("%d successes, %d drops of %d calls", s.Successes, s.Drops, cpus*uniques*rounds)
	}
	var entries, refs uint64
	for slot := range m.Slots() {
		if slot.IPs != nil {
			entries++
			refs += uint64(slot.Ref)
		}
	}
	if entries != s.Entries || refs != s.Successes || entries < uniques {
		t.Errorf("%d stacks with %d references; stat %+v", entries, refs, s)
	}
	t.Logf("%d duplicates", entries-uniques)
}

// TestParallelReset resets and exports while others insert: an export is whole,
// and what was counted before a reset is not counted after it.
func TestParallelReset(t *testing.T) {
	m := newMap(t, Config{Bits: MinBits})
	var stop atomic.Bool
	var wg sync.WaitGroup
	for cpu := range 4 {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				_, err := m.GetID(cpu, stackOf(n%2000, 8))
				if err != nil && !errors.Is(err, ErrNoSpace) && !errors.Is(err, ErrInvalid) {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		content(t, m.AppendBinary(nil))
		if err := m.Reset(runtime.Gosched); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if err := m.Reset(nil); err != nil {
		t.Error(err)
	}
	if s := m.Stats(); s.Entries+s.Successes+s.Drops != 0 {
		t.Errorf("after the last reset: %+v", s)
	}
}

// TestEqual: stacks that differ in one address, wherever it is, are not equal.
func TestEqual(t *testing.T) {
	for depth := range 140 {
		a := stackOf(1, depth)
		b := slices.Clone(a)
		if !equal(a, b) || equal(a, append(b, 1)) || equal(append(b, 1), a) {
			t.Errorf("depth %d: the same stack, or a deeper one", depth)
		}
		for i := range b {
			b[i] ^= 1 << 63
			if equal(a, b) {
				t.Errorf("depth %d: address %d is not compared", depth, i)
			}
			b[i] = a[i]
		}
	}
}

// TestPoolHoldsAll: the pool has room for as many stacks as were promised, of whatever
// depths, and each stays as it was stored.
func TestPoolHoldsAll(t *testing.T) {
	for _, deepest := range []int{1, 8, 9, 64, 65, 1000, MaxDepth} {
		for _, step := range []int{0, 1, 7} { // all as deep as possible, or of changing depths
			depth := func(i int) int { return deepest - i*step%deepest }
			p := newPool(Config{Bits: MinBits, MaxDepth: deepest}.withDefaults())
			var handles []uint32
			for i := range 1 << MinBits {
				h, ok := p.put(stackOf(i, depth(i)))
				if !ok {
					t.Fatalf("up to %d addresses: no room for stack %d", deepest, i)
				}
				handles = append(handles, h)
			}
			if _, ok := p.put([]uint64{1}); ok {
				t.Errorf("up to %d addresses: room for one more", deepest)
			}
			numbers := map[uint32]bool{}
			for i, h := range handles {
				numbers[number(h)] = true
				if !slices.Equal(p.at(h), stackOf(i, depth(i))) {
					t.Fatalf("up to %d addresses: stack %d has changed", deepest, i)
				}
			}
			if last := slices.Max(handles) >> depthBits; len(numbers) != len(handles) || last > maxUnits<<MinBits {
				t.Errorf("up to %d addresses: %d numbers, up to %d", deepest, len(numbers), last)
			}
		}
	}
}

// TestHitAllocations counts the allocations of a hit and of a refused stack: none.
func TestHitAllocations(t *testing.T) {
	for _, hash := range Hashes() {
		m := newMap(t, Config{Hash: hash})
		ips := stackOf(0, defaultDepth)
		deep := stackOf(0, defaultDepth+1)
		if n := testing.AllocsPerRun(100, func() {
			m.GetID(0, ips)
			m.GetID(0, deep)
			m.GetID(0, nil)
		}); n != 0 {
			t.Errorf("%v: %v allocations per hit", hash, n)
		}
	}
}

// TestLazyMemory holds 300 stacks in a map for 2^18, for which a kernel takes
// 145 MB.
func TestLazyMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := heap()
	m := newMap(t, Config{Bits: MaxBits})
	for i := range 300 {
		if _, err := m.GetID(0, stackOf(i, 16)); err != nil {
			t.Fatal(err)
		}
	}
	used := int64(heap()) - int64(before)
	t.Logf("%d bytes", used)
	if used > 1<<20 {
		t.Errorf("%d bytes for 300 stacks", used)
	}
	runtime.KeepAlive(m)
}
