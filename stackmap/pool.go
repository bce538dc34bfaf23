package stackmap

import (
	"math/bits"
	"sync/atomic"
)

// pool has the elements: the addresses of the stacks of a map. The kernel has 2^bits of
// them from the start, with room for MaxDepth addresses each. Here they lie one after the
// other in chunks, and each takes the cache lines that its own addresses need, or a few
// lines at a time in a map of very deep stacks.
//
// An element is known by its handle, which is not 0: the number of its first unit, counted
// from 1, and its depth less 1. So the word of a slot tells where an element is and whether
// its depth is the wanted one. The addresses are written before a slot publishes the
// handle, and do not change afterwards.
type pool struct {
	capacity uint32
	unitBits uint // elements take whole units of 2^unitBits addresses, at most 8 of them
	// used is what has been handed out: the number of elements (upper half), and of units
	// up to the end of the last one (lower half). Stored by the inserter that takes an
	// element (compare and swap), loaded by all. It publishes nothing.
	used atomic.Uint64
	// chunks: each is stored once by whoever needs it first (compare and swap from nil),
	// loaded by all. It publishes zeros.
	chunks []atomic.Pointer[chunk]
}

const (
	chunkBits = 12
	depthBits = 10 // of a handle
	maxUnits  = 8  // of an element

	lineBits = 3 // a cache line has 2^3 addresses
)

type chunk [1 << chunkBits]uint64

func newPool(cfg Config) pool {
	unitBits := uint(max(lineBits, bits.Len(uint(cfg.MaxDepth-1))-lineBits))
	return pool{
		capacity: uint32(cfg.capacity()),
		unitBits: unitBits,
		chunks:   make([]atomic.Pointer[chunk], max(1, maxUnits*cfg.capacity()>>(chunkBits-unitBits))),
	}
}

// put stores a copy of ips in the next element. ok is false if no element is left.
func (p *pool) put(ips []uint64) (handle uint32, ok bool) {
	units := uint32((len(ips)-1)>>p.unitBits + 1)
	perChunk := uint32(1) << (chunkBits - p.unitBits)
	for {
		used := p.used.Load()
		elements, at := uint32(used>>32), uint32(used)
		if elements == p.capacity {
			return 0, false
		}
		if rest := perChunk - at%perChunk; rest < units {
			at += rest
		}
		if p.used.CompareAndSwap(used, uint64(elements+1)<<32|uint64(at+units)) {
			c := &p.chunks[at/perChunk]
			if c.Load() == nil {
				made(c)
			}
			handle = (at+1)<<depthBits | uint32(len(ips)-1)
			copy(p.at(handle), ips)
			return handle, true
		}
	}
}

// depthOf is the number of addresses of an element.
func depthOf(handle uint32) int { return int(handle%(1<<depthBits)) + 1 }

// number is the number of an element among all units.
func number(handle uint32) uint32 { return handle>>depthBits - 1 }

// at returns the addresses of an element.
func (p *pool) at(handle uint32) []uint64 {
	first := uint(number(handle)) << (p.unitBits % 64)
	c, depth := p.chunks[first>>chunkBits].Load(), uint(depthOf(handle))
	return c[first%(1<<chunkBits):][:depth:depth]
}

// entries is the number of elements that have been handed out.
func (p *pool) entries() uint32 { return uint32(p.used.Load() >> 32) }
