package tracingmap

import "math/bits"

// jhash is Bob Jenkins' lookup3 of the bytes of a key, with the seed 0.
//
// Kernel: jhash, include/linux/jhash.h.
func jhash(key []byte) uint32 {
	a := 0xdeadbeef + uint32(len(key))
	b, c := a, a
	for len(key) > 12 {
		a, b, c = mix(a+word(key), b+word(key[4:]), c+word(key[8:]))
		key = key[12:]
	}
	if len(key) == 0 {
		return c
	}
	var tail [12]byte
	copy(tail[:], key)
	return final(a+word(tail[:]), b+word(tail[4:]), c+word(tail[8:]))
}

func word(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// mix is lookup3's reversible mixing of three words.
func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a = (a - c) ^ bits.RotateLeft32(c, 4)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 6)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 8)
	b += a
	a = (a - c) ^ bits.RotateLeft32(c, 16)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 19)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 4)
	return a, b + a, c
}

// final is lookup3's last mixing; only one word of it is used.
func final(a, b, c uint32) uint32 {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
