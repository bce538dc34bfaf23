package stackmap

import (
	"github.com/cespare/xxhash/v2"

	"ftracelab/internal/lookup3"
)

// key is the 32-bit hash of a stack, never 0: 0 marks an empty slot.
func (c *Config) key(ips []uint64) uint32 {
	var h uint32
	if c.Hash == XXHash64 {
		h = xxhash64(ips, c.Seed)
	} else if c.Hash == XXH3 {
		h = xxh3Hash(ips, c.Seed)
	} else {
		h = jhash2(ips, c.Seed)
	}
	return max(h, 1)
}

// jhash2 is Bob Jenkins' lookup3 over the 32-bit words of ips in the memory
// order of a little-endian machine: low half first. Three addresses are six
// words, two rounds of mixing; the last one, two or three words take the final
// round.
//
// Kernel: jhash2, include/linux/jhash.h.
func jhash2(ips []uint64, seed uint32) uint32 {
	a := lookup3.Init + uint32(len(ips))*2<<2 + seed
	b, c := a, a
	for len(ips) > 3 {
		p := ips[:3]
		a, b, c = lookup3.Mix(a+lo(p[0]), b+hi(p[0]), c+lo(p[1]))
		a, b, c = lookup3.Mix(a+hi(p[1]), b+lo(p[2]), c+hi(p[2]))
		ips = ips[3:]
	}
	switch len(ips) {
	case 3:
		a, b, c = lookup3.Mix(a+lo(ips[0]), b+hi(ips[0]), c+lo(ips[1]))
		return lookup3.Final(a+hi(ips[1]), b+lo(ips[2]), c+hi(ips[2]))
	case 2:
		a, b, c = lookup3.Mix(a+lo(ips[0]), b+hi(ips[0]), c+lo(ips[1]))
		return lookup3.Final(a+hi(ips[1]), b, c)
	case 1:
		return lookup3.Final(a+lo(ips[0]), b+hi(ips[0]), c)
	}
	return c
}

func lo(ip uint64) uint32 { return uint32(ip) }
func hi(ip uint64) uint32 { return uint32(ip >> 32) }

// xxhash64 is the upper half of the 64-bit hash of the same bytes.
func xxhash64(ips []uint64, seed uint32) uint32 {
	var d xxhash.Digest
	d.ResetWithSeed(uint64(seed))
	var buf [8 * defaultDepth]byte
	for len(ips) > 0 {
		n := min(len(ips), defaultDepth)
		b := buf[:0]
		for _, ip := range ips[:n] {
			b = appendU64(b, ip)
		}
		d.Write(b) // never fails
		ips = ips[n:]
	}
	return uint32(d.Sum64() >> 32)
}
