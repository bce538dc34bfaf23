package stackmap

import (
	"math/bits"

	"ftracelab/internal/lookup3"
)

// key is the 32-bit hash of a stack, never 0: 0 marks an empty slot.
func (c *Config) key(ips []uint64) uint32 {
	switch c.Hash {
	case JHash2:
		return max(jhash2(ips, c.Seed), 1)
	case XXHash64:
		return max(xxhash64(ips, c.Seed), 1)
	case XXH3:
		return max(xxh3Hash(ips, c.Seed), 1)
	}
	return max(mul64(ips, c.Seed), 1)
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

// xxhash64 is the upper half of the 64-bit xxHash of the same bytes. A stack has whole
// words only, so it needs neither the hash's last steps for bytes nor a copy as bytes.
func xxhash64(ips []uint64, seed uint32) uint32 {
	const (
		p1 uint64 = 0x9e3779b185ebca87
		p2 uint64 = 0xc2b2ae3d27d4eb4f
		p3 uint64 = 0x165667b19e3779f9
		p4 uint64 = 0x85ebca77c2b2ae63
		p5 uint64 = 0x27d4eb2f165667c5
	)
	s, size := uint64(seed), uint64(len(ips))*8
	h := s + p5
	if len(ips) >= 4 {
		first := s + p2 // a variable, because the sum with p1 does not fit into a constant
		a, b, c, d := first+p1, first, s, s-p1
		for len(ips) >= 4 {
			p := ips[:4]
			a = bits.RotateLeft64(a+p[0]*p2, 31) * p1
			b = bits.RotateLeft64(b+p[1]*p2, 31) * p1
			c = bits.RotateLeft64(c+p[2]*p2, 31) * p1
			d = bits.RotateLeft64(d+p[3]*p2, 31) * p1
			ips = ips[4:]
		}
		h = bits.RotateLeft64(a, 1) + bits.RotateLeft64(b, 7) + bits.RotateLeft64(c, 12) + bits.RotateLeft64(d, 18)
		for _, v := range [4]uint64{a, b, c, d} {
			h = (h^bits.RotateLeft64(v*p2, 31)*p1)*p1 + p4
		}
	}
	h += size
	for _, ip := range ips {
		h ^= bits.RotateLeft64(ip*p2, 31) * p1
		h = bits.RotateLeft64(h, 27)*p1 + p4
	}
	h = (h ^ h>>33) * p2
	h = (h ^ h>>29) * p3
	return uint32((h ^ h>>32) >> 32)
}

// mul64 multiplies two words at a time by an odd constant, so that no change of a single
// word gets lost. It does so in four chains, and at the end mixes their products. The second
// word of two is turned by half its width first, because addresses mostly differ in their
// lower halves. mul64 is not made to withstand somebody who looks for collisions.
func mul64(ips []uint64, seed uint32) uint32 {
	const k0, k1, k2, k3 uint64 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3
	a := uint64(seed) ^ uint64(len(ips))*k0
	b, c, d := a^k1, a^k2, a^k3
	for len(ips) >= 8 {
		p := ips[:8]
		a = (a ^ p[0] ^ bits.RotateLeft64(p[1], 32)) * k0
		b = (b ^ p[2] ^ bits.RotateLeft64(p[3], 32)) * k0
		c = (c ^ p[4] ^ bits.RotateLeft64(p[5], 32)) * k0
		d = (d ^ p[6] ^ bits.RotateLeft64(p[7], 32)) * k0
		ips = ips[8:]
	}
	if len(ips) >= 4 {
		p := ips[:4]
		a = (a ^ p[0] ^ bits.RotateLeft64(p[1], 32)) * k0
		b = (b ^ p[2] ^ bits.RotateLeft64(p[3], 32)) * k0
		ips = ips[4:]
	}
	if len(ips) >= 2 {
		p := ips[:2]
		c = (c ^ p[0] ^ bits.RotateLeft64(p[1], 32)) * k0
		ips = ips[2:]
	}
	if len(ips) == 1 {
		d = (d ^ ips[0]) * k0
	}
	high, low := bits.Mul64(a^bits.RotateLeft64(c, 32), b^bits.RotateLeft64(d, 32))
	return uint32((high ^ low) * k1 >> 32)
}
