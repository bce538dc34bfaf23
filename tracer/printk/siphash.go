package printk

import "github.com/dchest/siphash"

// Key is the key of the hash by which %p prints pointers.
type Key [2]uint64

// hash is SipHash-2-4 of a word, its bytes in little-endian order.
//
// Kernel: siphash_1u64, lib/siphash.c.
func (k Key) hash(word uint64) uint64 {
	var b [8]byte
	for i := range b {
		b[i] = byte(word >> (8 * i))
	}
	return siphash.Hash(k[0], k[1], b[:])
}

// Ptr is what %p prints for a pointer: 32 bits that do not tell where it points to, but
// are the same for the same pointer.
//
// Kernel: ptr_to_hashval, lib/vsprintf.c.
func (k Key) Ptr(ptr uint64) uint64 { return k.hash(ptr) & 0xffffffff }
