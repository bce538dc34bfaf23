package variant

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"ftracelab/stackmap"
)

// errCollision says that another stack has the bucket.
var errCollision = fmt.Errorf("the bucket is taken by another stack: %w", stackmap.ErrNoSpace)

// BPF does what the map BPF_MAP_TYPE_STACK_TRACE of 2^bits entries does, which
// programs use through bpf_get_stackid. The hash names the one bucket into which
// a stack may go, and the bucket is the id. If another stack is there, the new one
// is refused, or with BPF_F_REUSE_STACKID replaces it: then the ids in the trace
// stand for the wrong stack from now on.
//
// It never waits. Two CPUs that find the same empty bucket both use it, and the
// second one wins, also without the flag.
//
// Kernel: __bpf_get_stackid, kernel/bpf/stackmap.c.
//
// Departure: the kernel's hash has no seed, which is seed 0 here. Hits are counted
// here, not in the kernel; the counts say how many ids a replacement has made wrong.
// -EEXIST for a collision is counted as a drop.
type BPF struct {
	cfg   stackmap.Config
	reuse bool

	// buckets: swapped by Intern, loaded by all. They publish stacks.
	buckets []atomic.Pointer[bucket]
	// free is how many elements the pool has left. A replacement takes one before it
	// gives the old one back, so a map whose buckets are all in use replaces nothing.
	free atomic.Int64
	// given counts the ids that were given out, replaced the stacks that lost their
	// bucket. They publish nothing.
	given, replaced atomic.Uint64

	// former has the ids that were given out for stacks that were replaced, by their
	// keys: should such a stack come back, they are right again. mu guards it, and is
	// taken for replacements only; the kernel has nothing of the kind.
	mu     sync.Mutex
	former map[uint32]uint64
}

// maxFormer bounds the stacks that are remembered in this way. The ids of others count
// as lost for good.
const maxFormer = 1 << 20

// bucket is a stack in its place. Only refs changes.
type bucket struct {
	key  uint32
	ips  []uint64
	refs atomic.Uint64 // ids that were given out for it
}

// NewBPF returns an empty map, with the flag BPF_F_REUSE_STACKID or without it. It
// ignores Config.Probes, and its pool is eager. The error names what is wrong with c.
func NewBPF(c stackmap.Config, reuse bool) (*BPF, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	m := &BPF{cfg: c, reuse: reuse, buckets: make([]atomic.Pointer[bucket], 1<<c.Bits), former: map[uint32]uint64{}}
	m.free.Store(1 << c.Bits)
	return m, nil
}

// Intern returns the bucket of ips. The errors are those of [stackmap.Map.GetID].
func (m *BPF) Intern(_ int, ips []uint64) (uint32, error) {
	ips, err := admit(&m.cfg, ips)
	if err != nil {
		return 0, err
	}
	key := m.cfg.Key(ips)
	id := key & uint32(len(m.buckets)-1)
	old := m.buckets[id].Load()
	switch {
	case old.holds(key, ips):
		old.refs.Add(1)
		m.given.Add(1)
		return id, nil
	case old != nil && !m.reuse:
		return 0, errCollision
	case m.free.Add(-1) < 0:
		m.free.Add(1)
		return 0, stackmap.ErrNoSpace
	}
	b := &bucket{key: key, ips: slices.Clone(ips)}
	b.refs.Store(1)
	m.given.Add(1)
	if old = m.buckets[id].Swap(b); old == nil {
		return id, nil
	}
	m.free.Add(1)
	if old.holds(key, ips) { // another CPU was faster with the same stack
		b.refs.Add(old.refs.Load())
	} else {
		m.replaced.Add(1)
		m.exchange(old, b)
	}
	return id, nil
}

// exchange remembers the ids of a stack that was replaced, and remembers no longer those
// of the one that is there now.
func (m *BPF) exchange(old, now *bucket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now.refs.Add(m.former[now.key])
	delete(m.former, now.key)
	if len(m.former) < maxFormer {
		m.former[old.key] += old.refs.Load()
	}
}

// holds reports whether b is there and its stack is ips.
func (b *bucket) holds(key uint32, ips []uint64) bool {
	return b != nil && b.key == key && slices.Equal(b.ips, ips)
}

// Stack appends the addresses that are in a bucket now to dst; it returns false if it is
// empty.
func (m *BPF) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	if uint64(id) >= uint64(len(m.buckets)) {
		return dst, false
	}
	b := m.buckets[id].Load()
	if b == nil {
		return dst, false
	}
	return append(dst, b.ips...), true
}

// Sizes in a 64-bit kernel, in bytes.
const (
	bucketPointer = 8
	bucketHead    = 16 // of struct stack_map_bucket: freelist node, hash, nr
)

// Cost is what a kernel spends on the map. It has no export.
func (m *BPF) Cost() stackmap.Cost {
	n := uint64(len(m.buckets))
	return stackmap.Cost{
		Entries: n - uint64(max(0, m.free.Load())), Capacity: n, Slots: n,
		Table: stackmap.AreaSize(n * bucketPointer),
		Pool:  stackmap.AreaSize(n * uint64(bucketHead+8*m.cfg.MaxDepth)),
	}
}

// Faults counts the replacements, and the ids that stand for another stack now.
func (m *BPF) Faults() Faults {
	f := Faults{Replaced: m.replaced.Load(), Lost: m.given.Load()}
	for n := range m.buckets {
		if b := m.buckets[n].Load(); b != nil {
			f.Lost -= min(f.Lost, b.refs.Load())
		}
	}
	return f
}
