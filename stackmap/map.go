package stackmap

import (
	"iter"
	"slices"
	"sync/atomic"
)

// Map is a stack map. All its methods may be called from any goroutine. A nil
// *Map stands for a map that boot has not created yet: GetID refuses every
// stack, so that events carry full stacks until the map is there, and ids from
// then on. Stack and Slots find nothing, and AppendStat says that there is no
// map.
type Map struct {
	cfg   Config
	shift uint   // key >> shift is the home slot
	mask  uint32 // slots - 1

	// resetting: stored by Reset, loaded by GetID, which then refuses. It
	// publishes nothing but itself; whoever sees it late works on the
	// generation that the reset is about to leave.
	resetting atomic.Bool
	// current: stored by New and Reset, loaded by all others. It publishes an
	// empty generation.
	current atomic.Pointer[generation]
}

// generation is the content of a map between two resets. A reset leaves the old
// one to the goroutines that still use it; the garbage collector takes the
// place of the grace period for which the kernel has to wait.
type generation struct {
	// segments hold the slots. Each is made when a slot of it is first touched,
	// so that a map for 2^18 stacks that holds few of them is small. Each is
	// stored once by whoever needs it first (compare and swap from nil), loaded
	// by all. It publishes a zeroed segment.
	segments []atomic.Pointer[segment]
	pool     pool
	counters counters
}

const segmentBits = 7

// A segment has the words of neighbouring slots, each the id of at most one stack. The
// upper half of a word is the hash of the stack that claimed the slot, 0 if none did; the
// lower half is the handle of its element, 0 if there is none yet.
//
// A word is stored twice, by the claimer: the hash (compare and swap from 0), then the
// hash and the handle. It is loaded by all. With the handle it publishes the element. A
// hash without a handle is a stack being inserted, or a gravestone.
type segment [1 << segmentBits]atomic.Uint64

// New makes an empty map. Bits are clamped, other values out of range are an
// error that wraps ErrInvalid.
//
// Kernel: ftrace_stackmap_create, trace_stackmap.c.
func New(cfg Config) (*Map, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &Map{cfg: cfg, shift: uint(31 - cfg.Bits), mask: uint32(cfg.slots() - 1)}
	m.current.Store(newGeneration(cfg))
	return m, nil
}

func newGeneration(cfg Config) *generation {
	return &generation{
		segments: make([]atomic.Pointer[segment], cfg.slots()>>segmentBits),
		pool:     newPool(cfg),
		counters: newCounters(cfg),
	}
}

// Config returns the configuration with its defaults filled in.
func (m *Map) Config() Config { return m.cfg }

// GetID returns the id of ips (innermost address first). It counts the stack
// and, if the stack is new, stores a copy of it. cpu only chooses the counters.
//
// Finding a stack that is there does not allocate; storing one does.
//
// Errors: ErrInvalid for a nil map, an empty stack or a reset in progress;
// ErrTooDeep beyond MaxDepth, unless TruncateDeep; ErrNoSpace when the pool is
// exhausted or all probes are used up, which counts as a drop. With any error
// the caller records the whole stack.
//
// Kernel: ftrace_stackmap_get_id, trace_stackmap.c.
//
// Departure: a GetID that runs at the same time as a Reset may still return an
// id of the map before the reset; the kernel waits for it with synchronize_rcu
// first.
func (m *Map) GetID(cpu int, ips []uint64) (uint32, error) {
	if m == nil || len(ips) == 0 || m.resetting.Load() {
		return 0, ErrInvalid
	}
	if len(ips) > m.cfg.MaxDepth {
		if !m.cfg.TruncateDeep {
			return 0, ErrTooDeep
		}
		ips = ips[:m.cfg.MaxDepth]
	}
	g := m.current.Load()
	var key uint32
	if m.cfg.Hash == Mul64 { // as key does it, with one call less
		key = max(mul64(ips, m.cfg.Seed), 1)
	} else {
		key = m.cfg.key(ips)
	}
	id := key >> (m.shift % 32)
	for range m.cfg.Probes {
		seg := g.segments[id>>segmentBits].Load()
		if seg == nil {
			seg = made(&g.segments[id>>segmentBits])
		}
		s := &seg[id%(1<<segmentBits)]
		w := s.Load()
		switch uint32(w >> 32) {
		case key:
			// No handle: being inserted, or a gravestone. Another stack: a collision
			// of all 32 bits. Either way the next slot is tried.
			h := uint32(w)
			if h != 0 && depthOf(h) == len(ips) && equal(g.pool.at(h), ips) {
				n := g.counters.known(cpu, number(h))
				if n == nil {
					n = g.counters.first(cpu, number(h))
				}
				n.Add(1)
				return id, nil
			}
		case 0:
			if s.CompareAndSwap(0, uint64(key)<<32) {
				h, ok := g.pool.put(ips)
				if !ok {
					g.counters.drop(cpu) // and the hash stays: a gravestone
					return 0, ErrNoSpace
				}
				s.Store(uint64(key)<<32 | uint64(h))
				return id, nil
			}
			// Somebody claimed the slot just now, maybe for the same stack. Its
			// element is not there yet, so there is nothing to look at.
		}
		id = (id + 1) & m.mask
	}
	g.counters.drop(cpu)
	return 0, ErrNoSpace
}

// made makes what p is to point to, unless somebody else has just done so.
func made[T any](p *atomic.Pointer[T]) *T {
	p.CompareAndSwap(nil, new(T))
	return p.Load()
}

// equal reports whether two stacks are the same. It compares arrays, which takes the widest
// instructions of the machine; the last one may overlap the one before it.
func equal(a, b []uint64) bool {
	n := len(a)
	switch {
	case n != len(b):
		return false
	case n >= 32:
		for i := 0; i < n-32; i += 32 {
			if *(*[32]uint64)(a[i:]) != *(*[32]uint64)(b[i:]) {
				return false
			}
		}
		return *(*[32]uint64)(a[n-32:]) == *(*[32]uint64)(b[n-32:])
	case n >= 16:
		return *(*[16]uint64)(a) == *(*[16]uint64)(b) && (n == 16 || *(*[16]uint64)(a[n-16:]) == *(*[16]uint64)(b[n-16:]))
	case n >= 8:
		return *(*[8]uint64)(a) == *(*[8]uint64)(b) && *(*[8]uint64)(a[n-8:]) == *(*[8]uint64)(b[n-8:])
	}
	return slices.Equal(a, b)
}

// Stack appends the addresses of id to dst, innermost first. It returns false
// if no stack has this id.
func (m *Map) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	if m == nil || id > m.mask {
		return dst, false
	}
	g := m.current.Load()
	seg := g.segments[id>>segmentBits].Load()
	if seg == nil {
		return dst, false
	}
	h := uint32(seg[id%(1<<segmentBits)].Load())
	if h == 0 {
		return dst, false
	}
	return append(dst, g.pool.at(h)...), true
}

// Slot is a claimed slot, for exports and drawings.
type Slot struct {
	ID   uint32
	Home uint32   // the first slot tried for this key; ID-Home, modulo the table, is the displacement
	Key  uint32   // hash of the stack
	Ref  uint32   // events of this stack
	IPs  []uint64 // the map's own, not to be changed; nil: claimed, but empty
}

// Slots yields the claimed slots in order of their ids. Stacks that are inserted
// meanwhile may be missed; a reset meanwhile is not seen.
func (m *Map) Slots() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if m == nil {
			return
		}
		g := m.current.Load()
		for i, p := range g.each() {
			w := p.Load()
			if w == 0 {
				continue
			}
			s := Slot{ID: i, Key: uint32(w >> 32)}
			s.Home = s.Key >> m.shift
			if h := uint32(w); h != 0 {
				s.Ref, s.IPs = m.cfg.ref(g.counters.of(number(h))), g.pool.at(h)
			}
			if !yield(s) {
				return
			}
		}
	}
}

// each yields the slots of all segments that were touched.
func (g *generation) each() iter.Seq2[uint32, *atomic.Uint64] {
	return func(yield func(uint32, *atomic.Uint64) bool) {
		for i := range g.segments {
			seg := g.segments[i].Load()
			if seg == nil {
				continue
			}
			for j := range seg {
				if !yield(uint32(i<<segmentBits|j), &seg[j]) {
					return
				}
			}
		}
	}
}
