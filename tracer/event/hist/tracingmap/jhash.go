package tracingmap

import "ftracelab/internal/lookup3"

// jhash is Bob Jenkins' lookup3 of the bytes of a key, with the seed 0.
//
// Kernel: jhash, include/linux/jhash.h.
func jhash(key []byte) uint32 {
	a := lookup3.Init + uint32(len(key))
	b, c := a, a
	for len(key) > 12 {
		a, b, c = lookup3.Mix(a+word(key), b+word(key[4:]), c+word(key[8:]))
		key = key[12:]
	}
	if len(key) == 0 {
		return c
	}
	var tail [12]byte
	copy(tail[:], key)
	return lookup3.Final(a+word(tail[:]), b+word(tail[4:]), c+word(tail[8:]))
}

func word(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
