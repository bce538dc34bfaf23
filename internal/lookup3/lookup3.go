// Package lookup3 is Bob Jenkins' hash lookup3. The kernel's jhash and jhash2 are made
// from it; they differ in how they read the data.
//
// Kernel: include/linux/jhash.h.
package lookup3

import "math/bits"

// Init is the initial value of all three words, before the length in bytes and the seed
// are added.
//
// Kernel: JHASH_INITVAL.
const Init = 0xdeadbeef

// Mix is the reversible mixing of three words.
//
// Kernel: __jhash_mix.
func Mix(a, b, c uint32) (uint32, uint32, uint32) {
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
	return a, a + b, (c - b) ^ bits.RotateLeft32(b, 4) // in this form the compiler inlines it
}

// Final is the last mixing; only one word of it is used.
//
// Kernel: __jhash_final.
func Final(a, b, c uint32) uint32 {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
