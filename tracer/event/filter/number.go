package filter

import "strconv"

// parseUnsigned reads a number as C writes it: 0x is base 16, another leading 0
// base 8.
//
// Kernel: kstrtoull, lib/kstrtox.c.
func parseUnsigned(s string) (uint64, bool) {
	base := 10
	if len(s) > 1 && s[0] == '0' {
		base = 8
		if len(s) > 2 && s[1]|0x20 == 'x' {
			base, s = 16, s[2:]
		}
	}
	v, err := strconv.ParseUint(s, base, 64)
	return v, err == nil
}

// parseSigned reads a number that may be negative and fits 63 bits and a sign.
//
// Kernel: kstrtoll, lib/kstrtox.c.
func parseSigned(s string) (uint64, bool) {
	if s[0] == '-' {
		v, ok := parseUnsigned(s[1:])
		return -v, ok && v <= 1<<63
	}
	v, ok := parseUnsigned(s)
	return v, ok && v < 1<<63
}

// truncate is a cast to an unsigned type of size bytes.
func truncate(v uint64, size int) uint64 {
	if size >= 8 {
		return v
	}
	return v & (1<<(8*size) - 1)
}

// signExtend is a cast to a signed type of size bytes and back.
func signExtend(v uint64, size int) uint64 {
	shift := max(64-8*size, 0)
	return uint64(int64(v<<shift) >> shift)
}
