package stackmap

// A Lookup is [Map.GetID] in slow motion: each Step makes one of its atomic operations, so
// that whoever steps two of them by turns sees what two CPUs do to each other. Stepped to
// its end alone, it does what GetID does.
//
// A Lookup belongs to one goroutine. It is for drawings and for trying interleavings;
// nothing that records uses it.
//
// Kernel: ftrace_stackmap_get_id, trace_stackmap.c.
type Lookup struct {
	m      *Map
	g      *generation
	cpu    int
	ips    []uint64
	key    uint32
	slot   uint32 // the one it is at
	tried  int    // slots it is done with
	handle uint32 // of the element that it has found, or has filled
	next   Op
	id     uint32
	err    error
}

// An Op is an atomic operation of a [Lookup].
type Op uint8

// The operations, in the order in which the insertion of a stack needs them.
const (
	OpLoad    Op = iota // the word of a slot is loaded, and compared
	OpClaim             // the hash is put into a slot that was empty, by compare and swap
	OpElement           // an element is taken from the pool, and the stack copied into it
	OpPublish           // the slot is made to lead to the element
	OpCount             // an event is added to a stack that is there
	OpDrop              // a stack is counted that gets no id
	opEnd
)

// A LookupStep is what a Step of a Lookup has done.
type LookupStep struct {
	Op   Op
	Slot uint32
	// OK: OpLoad has found this stack; OpClaim and OpElement have got what they wanted.
	OK bool
	// Free: OpLoad has found the slot empty. Pending: it has found the hash of this stack
	// and no stack yet.
	Free, Pending bool
}

// Lookup begins a look-up of ips on a CPU. Its errors are those that GetID has before it
// looks at a slot.
func (m *Map) Lookup(cpu int, ips []uint64) (*Lookup, error) {
	if m == nil || len(ips) == 0 || m.resetting.Load() {
		return nil, ErrInvalid
	}
	if len(ips) > m.cfg.MaxDepth {
		if !m.cfg.TruncateDeep {
			return nil, ErrTooDeep
		}
		ips = ips[:m.cfg.MaxDepth]
	}
	key := m.cfg.key(ips)
	return &Lookup{m: m, g: m.current.Load(), cpu: cpu, ips: ips, key: key, slot: key >> m.shift}, nil
}

// Next is the operation that the next Step makes, and the slot that it is at. ok is false
// at the end.
func (l *Lookup) Next() (op Op, slot uint32, ok bool) { return l.next, l.slot, l.next != opEnd }

// Key is the hash of the stack.
func (l *Lookup) Key() uint32 { return l.key }

// Result is what GetID returns. It has a meaning when Next has none.
func (l *Lookup) Result() (id uint32, err error) { return l.id, l.err }

// Step makes the next operation. It must not be called at the end.
func (l *Lookup) Step() LookupStep {
	word := &segmentOf(l.g, l.slot)[l.slot%(1<<segmentBits)]
	s := LookupStep{Op: l.next, Slot: l.slot}
	switch l.next {
	case OpLoad:
		w := word.Load()
		handle := uint32(w)
		same := uint32(w>>32) == l.key
		s.Free, s.Pending = w == 0, same && handle == 0
		s.OK = same && handle != 0 && equal(l.g.pool.at(handle), l.ips)
		switch {
		case s.OK:
			l.handle, l.next = handle, OpCount
		case s.Free:
			l.next = OpClaim
		default:
			l.leaveSlot()
		}
	case OpClaim:
		if s.OK = word.CompareAndSwap(0, uint64(l.key)<<32); s.OK {
			l.next = OpElement
		} else {
			l.leaveSlot()
		}
	case OpElement:
		if l.handle, s.OK = l.g.pool.put(l.ips); s.OK {
			l.next = OpPublish
		} else {
			l.next = OpDrop
		}
	case OpPublish:
		word.Store(uint64(l.key)<<32 | uint64(l.handle))
		l.id, l.next, s.OK = l.slot, opEnd, true
	case OpCount:
		l.g.counters.first(l.cpu, number(l.handle)).Add(1)
		l.id, l.next, s.OK = l.slot, opEnd, true
	case OpDrop:
		l.g.counters.drop(l.cpu)
		l.err, l.next = ErrNoSpace, opEnd
	default:
		panic("stackmap: invariant: a look-up that has ended goes on")
	}
	return s
}

// leaveSlot goes on to the next slot, if one may be tried.
func (l *Lookup) leaveSlot() {
	l.slot, l.next = (l.slot+1)&l.m.mask, OpLoad
	if l.tried++; l.tried == l.m.cfg.Probes {
		l.next = OpDrop
	}
}

// segmentOf is the segment of a slot, made if it is not there.
func segmentOf(g *generation, slot uint32) *segment {
	p := &g.segments[slot>>segmentBits]
	if p.Load() == nil {
		made(p)
	}
	return p.Load()
}
