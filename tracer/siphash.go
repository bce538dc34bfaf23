package tracer

import "github.com/dchest/siphash"

// sipKey is the key of a SipHash.
type sipKey [2]uint64

// hash is SipHash-2-4 of a word, its bytes in little-endian order.
//
// Kernel: siphash_1u64, lib/siphash.c.
func (k sipKey) hash(word uint64) uint64 {
	var b [8]byte
	for i := range b {
		b[i] = byte(word >> (8 * i))
	}
	return siphash.Hash(k[0], k[1], b[:])
}
