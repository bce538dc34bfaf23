package stackmap

import "github.com/zeebo/xxh3"

// xxh3Hash is the upper half of the 64-bit XXH3 of the addresses as bytes. Of a stack of
// more than 64 addresses, the hash of each 64 of them is the seed for the next ones.
func xxh3Hash(ips []uint64, seed uint32) uint32 {
	h := uint64(seed)
	var buf [8 * defaultDepth]byte
	for {
		n := min(len(ips), defaultDepth)
		b := buf[:0]
		for _, ip := range ips[:n] {
			b = appendU64(b, ip)
		}
		h = xxh3.HashSeed(b, h)
		if ips = ips[n:]; len(ips) == 0 {
			return uint32(h >> 32)
		}
	}
}
