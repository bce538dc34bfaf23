package stackmap

import (
	"math"
	"sync/atomic"
)

// counters count for each CPU by itself, so that CPUs that bring the same stack do not
// wait for each other's cache line. Who reads them adds up. A hit counts once, at its
// stack; what stack_map_stat calls successes is the sum over all stacks. (The kernel has a
// ref_count that all CPUs share, and counts successes beside it. The sums are the same.)
// The event that brought a stack first is counted by the pool, which has an element for
// it. So stacks that never come again take no counters.
type counters struct {
	// cpus: each is stored once by the first call for its CPU (compare and swap from
	// nil), loaded by all. It publishes zeroed counters.
	cpus  [stripes]atomic.Pointer[cpuCounters]
	lists int // of hits that a CPU may need
}

const (
	stripes  = 16 // CPUs beyond share
	hitsBits = 9
)

// cpuCounters are one CPU's. Added to by GetID on that CPU, loaded by the exports. They
// publish nothing.
type cpuCounters struct {
	drops atomic.Uint64
	// hits count by the numbers of the elements. Each list is stored once by who needs it
	// first (compare and swap from nil), loaded by all. It publishes zeros.
	hits []atomic.Pointer[hits]
	_    [32]byte // so that they fill a cache line
}

type hits [1 << hitsBits]atomic.Uint64

func newCounters(cfg Config) counters {
	return counters{lists: maxUnits * cfg.capacity() >> hitsBits}
}

// known returns the counter of an element, nil if it has not been made.
func (c *counters) known(cpu int, number uint32) *atomic.Uint64 {
	if own := c.cpus[uint(cpu)%stripes].Load(); own != nil {
		if list := own.hits[number>>hitsBits].Load(); list != nil {
			return &list[number%(1<<hitsBits)]
		}
	}
	return nil
}

// first returns the counter of an element, making what it is in.
func (c *counters) first(cpu int, number uint32) *atomic.Uint64 {
	list := &c.cpu(cpu).hits[number>>hitsBits]
	if list.Load() == nil {
		made(list)
	}
	return &list.Load()[number%(1<<hitsBits)]
}

// drop counts a stack for which there was no room.
func (c *counters) drop(cpu int) { c.cpu(cpu).drops.Add(1) }

// cpu returns the counters of a CPU, making them if they are not there.
func (c *counters) cpu(cpu int) *cpuCounters {
	p := &c.cpus[uint(cpu)%stripes]
	if p.Load() == nil {
		p.CompareAndSwap(nil, &cpuCounters{hits: make([]atomic.Pointer[hits], c.lists)})
	}
	return p.Load()
}

// of is how many events an element has that a slot has published.
func (c *counters) of(number uint32) (n uint64) {
	n = 1
	for i := range c.cpus {
		if own := c.cpus[i].Load(); own != nil {
			if list := own.hits[number>>hitsBits].Load(); list != nil {
				n += list[number%(1<<hitsBits)].Load()
			}
		}
	}
	return n
}

// sums adds up the hits and the drops of all CPUs.
func (c *counters) sums() (total, drops uint64) {
	for i := range c.cpus {
		own := c.cpus[i].Load()
		if own == nil {
			continue
		}
		drops += own.drops.Load()
		for j := range own.hits {
			if list := own.hits[j].Load(); list != nil {
				for k := range list {
					total += list[k].Load()
				}
			}
		}
	}
	return total, drops
}

// ref is the ref_count of a stack that has had so many events.
func (c *Config) ref(events uint64) uint32 {
	if c.SaturateRefs {
		return uint32(min(events, math.MaxInt32))
	}
	return uint32(events)
}

// counter is what a counter shows that has counted so many calls.
func (c *Config) counter(calls uint64) uint64 {
	if c.SaturateRefs {
		return min(calls, math.MaxInt64)
	}
	return calls
}
