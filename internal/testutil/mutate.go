package testutil

import (
	"math/rand/v2"
	"slices"
)

// tokens are pieces of text that parsers may stumble over.
var tokens = []string{
	"\x00", "\n", "\n\n", " ", "\t", "-", "-1", "0", "00000000000000000000", "4294967295", "18446744073709551615", "18446744073709551616",
	"9223372036854775807", "0x", "0xffffffffffffffff", "1e308", "NaN", ".", "..", "/", "%s%n", "${", "$(", ")", "(((((((((", "\"", "'", "`", "\\", "[", "]", "{", "}",
	":", ";", "=>", "[k]", "_[k]", "#", "# ", "CPU:", "\x1b[31m", "\xff", "\u202e", "\xc2\x9b", "</script>",
}

// Mutate returns data with random changes, mostly one or two. They concern bits, bytes,
// numbers of any size, tokens, and stretches that are left out, repeated, moved, or
// taken from other.
func Mutate(rng *rand.Rand, data, other []byte) []byte {
	data = slices.Clone(data)
	for more := true; more; more = rng.IntN(2) == 0 {
		if len(data) == 0 {
			data = append(data, other...)
			if len(data) == 0 {
				return data
			}
		}
		data = change(rng, data, other)
	}
	return data
}

// change makes one change.
func change(rng *rand.Rand, data, other []byte) []byte {
	at := rng.IntN(len(data))
	end := min(len(data), at+1+stretch(rng, len(data)))
	switch rng.IntN(11) {
	case 0:
		data[at] ^= 1 << rng.IntN(8)
	case 1:
		data[at] = byte(rng.Uint32())
	case 2:
		data[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[rng.IntN(5)]
	case 3: // a number
		n := []uint64{0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, 1<<64 - 1, rng.Uint64() >> rng.IntN(64)}[rng.IntN(13)]
		b := make([]byte, 8)
		for i := range b {
			b[i] = byte(n >> (8 * i))
		}
		b = b[:1<<rng.IntN(4)]
		if rng.IntN(2) == 0 {
			slices.Reverse(b) // big-endian
		}
		copy(data[at:], b)
	case 4: // a number that may be a count or a size becomes a little larger or smaller
		data[at] += byte(rng.IntN(9)) - 4
	case 5:
		return slices.Insert(data, at, []byte(tokens[rng.IntN(len(tokens))])...)
	case 6:
		return slices.Delete(data, at, end)
	case 7:
		return data[:at]
	case 8:
		return slices.Insert(data, at, slices.Clone(data[at:end])...)
	case 9:
		if len(other) > 0 {
			from := rng.IntN(len(other))
			return slices.Insert(data, at, other[from:min(len(other), from+stretch(rng, len(other)))]...)
		}
	case 10:
		to := rng.IntN(len(data))
		copy(data[to:], slices.Clone(data[at:end]))
	}
	return data
}

// stretch draws a length up to n, mostly a short one.
func stretch(rng *rand.Rand, n int) int {
	return rng.IntN(1 + n>>rng.IntN(8))
}
