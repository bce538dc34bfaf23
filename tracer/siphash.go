package tracer

import "math/bits"

// sipKey is the key of a SipHash.
type sipKey [2]uint64

// hash is SipHash-2-4 of a word, its bytes in little-endian order.
//
// Kernel: siphash_1u64, lib/siphash.c.
func (k sipKey) hash(word uint64) uint64 {
	const length = 8 // bytes
	v := [4]uint64{
		k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
		k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573,
	}
	for _, block := range [...]uint64{word, length << 56} {
		v[3] ^= block
		sipRound(&v)
		sipRound(&v)
		v[0] ^= block
	}
	v[2] ^= 0xff
	for range 4 {
		sipRound(&v)
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func sipRound(v *[4]uint64) {
	v[0] += v[1]
	v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
	v[0] = bits.RotateLeft64(v[0], 32)
	v[2] += v[3]
	v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
	v[0] += v[3]
	v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
	v[2] += v[1]
	v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
	v[2] = bits.RotateLeft64(v[2], 32)
}
