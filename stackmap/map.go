package stackmap

import (
	"iter"
	"math"
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
	capacity uint32
	// segments hold the slots. Each is made when a slot of it is first touched,
	// so that a map for 2^18 stacks that holds few of them is small. Each is
	// stored once by whoever needs it first (compare and swap from nil), loaded
	// by all. It publishes a zeroed segment.
	segments []atomic.Pointer[segment]
	// next is the number of elements handed out. Added to by the inserter that
	// takes one, loaded by the statistics. It publishes nothing.
	next     atomic.Uint32
	counters [stripes]counters
}

const (
	segmentBits = 5
	stripes     = 64 // counters per CPU; CPUs beyond share
)

type segment [1 << segmentBits]slot

// slot is one id.
type slot struct {
	// key is the hash of the stack that claimed the slot, 0 if none did. Stored
	// once, by the claimer (compare and swap from 0), loaded by all. It
	// publishes nothing: a key without an element is a stack being inserted or
	// a gravestone.
	key atomic.Uint32
	// elt is stored once by the claimer, loaded by all. It publishes the
	// element's ips.
	elt atomic.Pointer[element]
}

// element is one stack. The kernel has 2^bits of them from the start, with room
// for MaxDepth addresses each; here one is made when it is handed out.
type element struct {
	ips []uint64 // immutable once published
	// ref counts the events of this stack. Added to by GetID, loaded by the
	// exports. It publishes nothing.
	ref atomic.Uint32
}

// counters are one CPU's, on a cache line of their own. Added to by GetID on
// that CPU, loaded by Stats. They publish nothing.
type counters struct {
	successes, drops atomic.Uint64
	_                [48]byte
}

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
		capacity: uint32(cfg.capacity()),
		segments: make([]atomic.Pointer[segment], cfg.slots()>>segmentBits),
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
	c := &g.counters[uint(cpu)%stripes]
	key := m.cfg.key(ips)
	id := key >> m.shift
	for range m.cfg.Probes {
		s := g.slot(id)
		switch s.key.Load() {
		case key:
			// No element: being inserted, or a gravestone. Another stack: a
			// collision of all 32 bits. Either way the next slot is tried.
			if e := s.elt.Load(); e != nil && slices.Equal(e.ips, ips) {
				m.count(e)
				m.bump(&c.successes)
				return id, nil
			}
		case 0:
			if s.key.CompareAndSwap(0, key) {
				if !g.take() {
					m.bump(&c.drops) // and the key stays: a gravestone
					return 0, ErrNoSpace
				}
				s.publish(ips)
				m.bump(&c.successes)
				return id, nil
			}
			// Somebody claimed the slot just now, maybe for the same stack. Its
			// element is not there yet, so there is nothing to look at.
		}
		id = (id + 1) & m.mask
	}
	m.bump(&c.drops)
	return 0, ErrNoSpace
}

// slot returns slot id, making its segment if nobody touched it yet.
func (g *generation) slot(id uint32) *slot {
	p := &g.segments[id>>segmentBits]
	seg := p.Load()
	if seg == nil {
		p.CompareAndSwap(nil, new(segment))
		seg = p.Load()
	}
	return &seg[id%(1<<segmentBits)]
}

// take takes an element from the pool and reports whether there was one.
func (g *generation) take() bool {
	for n := g.next.Load(); n < g.capacity; n = g.next.Load() {
		if g.next.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// publish stores a copy of ips, with a ref of 1, in a slot that the caller has
// claimed.
func (s *slot) publish(ips []uint64) {
	e := &element{ips: slices.Clone(ips)}
	e.ref.Store(1)
	s.elt.Store(e)
}

// count adds an event to e.
func (m *Map) count(e *element) {
	if !m.cfg.SaturateRefs {
		e.ref.Add(1)
		return
	}
	for n := e.ref.Load(); n < math.MaxInt32; n = e.ref.Load() {
		if e.ref.CompareAndSwap(n, n+1) {
			return
		}
	}
}

// bump adds one to a counter of this CPU.
func (m *Map) bump(c *atomic.Uint64) {
	if m.cfg.SaturateRefs && c.Load() >= math.MaxInt64 {
		return
	}
	c.Add(1)
}

// Stack appends the addresses of id to dst, innermost first. It returns false
// if no stack has this id.
func (m *Map) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	if m == nil || id > m.mask {
		return dst, false
	}
	seg := m.current.Load().segments[id>>segmentBits].Load()
	if seg == nil {
		return dst, false
	}
	e := seg[id%(1<<segmentBits)].elt.Load()
	if e == nil {
		return dst, false
	}
	return append(dst, e.ips...), true
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
		for i, p := range m.current.Load().each() {
			s := Slot{ID: i, Key: p.key.Load()}
			if s.Key == 0 {
				continue
			}
			s.Home = s.Key >> m.shift
			if e := p.elt.Load(); e != nil {
				s.Ref, s.IPs = e.ref.Load(), e.ips
			}
			if !yield(s) {
				return
			}
		}
	}
}

// each yields the slots of all segments that were touched.
func (g *generation) each() iter.Seq2[uint32, *slot] {
	return func(yield func(uint32, *slot) bool) {
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
