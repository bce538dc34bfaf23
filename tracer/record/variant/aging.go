package variant

import (
	"slices"
	"sync"
	"sync/atomic"

	"ftracelab/stackmap"
)

// Aging is a map that makes room: a stack that finds none takes the place of the
// least recently used one among those in its way. An id is a slot and the slot's
// generation, so the id of a stack that was forgotten stands for nothing; it never
// stands for another stack. A slot whose generations are used up keeps its stack.
//
// The slot is the lower Bits+1 bits of the 31 bits of an id, the generation the rest.
//
// A lookup takes no lock, but writes when the stack was used. A stack is there at most
// once.
type Aging struct {
	cfg         stackmap.Config
	shift       uint   // key >> shift is the home slot
	mask        uint32 // slots - 1
	generations uint32 // of a slot

	// slots are stored under mu, loaded by all. They publish elements. A slot that was
	// taken is never empty again.
	slots []atomic.Pointer[aged]
	// given counts the ids that were given out. It is the clock by which stacks age.
	given atomic.Uint64

	mu       sync.Mutex
	entries  uint64
	words    uint64 // addresses of all stacks that are there
	replaced uint64
}

// aged is a stack in its place. Only its counts change.
type aged struct {
	key, id uint32
	ips     []uint64
	refs    atomic.Uint64 // ids that were given out for it
	used    atomic.Uint64 // Aging.given at the last of them
}

// NewAging returns an empty map. The error names what is wrong with c.
func NewAging(c stackmap.Config) (*Aging, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	n := slotBits(&c)
	return &Aging{
		cfg: c, shift: 32 - n, mask: 1<<n - 1, generations: 1 << (idBits - n),
		slots: make([]atomic.Pointer[aged], 1<<n),
	}, nil
}

// Intern returns the id of ips, which is another one if the stack was forgotten. The
// errors are those of [stackmap.Map.GetID].
func (m *Aging) Intern(_ int, ips []uint64) (uint32, error) {
	ips, err := admit(&m.cfg, ips)
	if err != nil {
		return 0, err
	}
	key := m.cfg.Key(ips)
	if e := m.find(key, ips); e != nil {
		return m.use(e), nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.find(key, ips); e != nil {
		return m.use(e), nil
	}
	at, ok := m.place(key)
	if !ok {
		return 0, stackmap.ErrNoSpace
	}
	e := &aged{key: key, id: at, ips: slices.Clone(ips)}
	if old := m.slots[at].Load(); old != nil {
		e.id = old.id + m.mask + 1 // the next generation
		m.replaced++
		m.words -= uint64(len(old.ips))
	} else {
		m.entries++
	}
	m.words += uint64(len(ips))
	m.use(e)
	m.slots[at].Store(e)
	return e.id, nil
}

// use counts that the id of e is given out, and returns it.
func (m *Aging) use(e *aged) uint32 {
	e.refs.Add(1)
	e.used.Store(m.given.Add(1))
	return e.id
}

// find returns the element of a stack, or nil.
func (m *Aging) find(key uint32, ips []uint64) *aged {
	for n := range uint32(m.cfg.Probes) {
		e := m.slots[(key>>m.shift+n)&m.mask].Load()
		if e == nil {
			return nil
		}
		if e.key == key && slices.Equal(e.ips, ips) {
			return e
		}
	}
	return nil
}

// place returns the slot for a new stack: an empty one, or that of the stack that has
// to go.
func (m *Aging) place(key uint32) (at uint32, ok bool) {
	var oldest uint64
	for n := range uint32(m.cfg.Probes) {
		here := (key>>m.shift + n) & m.mask
		e := m.slots[here].Load()
		if e == nil {
			if m.entries < 1<<m.cfg.Bits {
				return here, true
			}
			break // the pool has no element for it
		}
		if used := e.used.Load(); e.id>>slotBits(&m.cfg)+1 < m.generations && (!ok || used < oldest) {
			at, oldest, ok = here, used, true
		}
	}
	return at, ok
}

// Stack appends the addresses of id to dst; it returns false if the stack was forgotten
// or never was.
func (m *Aging) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	e := m.slots[id&m.mask].Load()
	if e == nil || e.id != id {
		return dst, false
	}
	return append(dst, e.ips...), true
}

// usedSize is the size of the time of a stack's last use, which the kernel would keep
// in an array beside the pool.
const usedSize = 8

// Cost is what a kernel would spend on the map.
func (m *Aging) Cost() stackmap.Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	cost := m.cfg.Cost(m.entries, m.words)
	cost.Pool += stackmap.AreaSize(usedSize * cost.Capacity)
	return cost
}

// Faults counts the stacks that were forgotten, and the ids that stand for nothing
// since.
func (m *Aging) Faults() Faults {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := Faults{Replaced: m.replaced, Lost: m.given.Load()}
	for n := range m.slots {
		if e := m.slots[n].Load(); e != nil {
			f.Lost -= min(f.Lost, e.refs.Load())
		}
	}
	return f
}
