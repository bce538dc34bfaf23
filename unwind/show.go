package unwind

import (
	"fmt"
	"math/bits"
)

// AppendState appends what is kept with t as one line of text: the bits of its mask and of
// the works that have had the stack of this stay, the cookie of the stay (0: none), whether
// the walk is queued, and the works that wait for it. If there was a walk before, in this
// stay or an earlier one, the line ends with how many there were, by why they stopped, and
// what the last one found.
//
//	mask 0x7 (pending used 2), completed 0x0, cookie 300000001, walk queued for 2
//	mask 0x0, completed 0x0, cookie 0, walk not queued; 2 walks: 2 outermost frame; the last one: 8 addresses, outermost frame
func (t *Task) AppendState(dst []byte) []byte {
	dst = appendBits(fmt.Appendf(dst, "mask %#x", t.mask), t.mask)
	dst = appendBits(fmt.Appendf(dst, ", completed %#x", t.completed), t.completed)
	dst = fmt.Appendf(dst, ", cookie %x, walk ", uint64(t.id))
	if !t.queued {
		return t.appendLast(append(dst, "not queued"...))
	}
	dst = append(dst, "queued for"...)
	for m := t.mask &^ (reserved | t.completed); m != 0; m &= m - 1 {
		dst = fmt.Appendf(dst, " %d", bits.TrailingZeros64(m))
	}
	return t.appendLast(dst)
}

// appendLast appends what the walks came to, and ends the line.
func (t *Task) appendLast(dst []byte) []byte {
	if t.walks.Total() > 0 {
		dst = t.walks.Append(append(dst, "; "...))
	}
	return append(dst, '\n')
}

// appendBits names the bits of a mask.
func appendBits(dst []byte, mask uint64) []byte {
	if mask == 0 {
		return dst
	}
	before := " ("
	for m := mask; m != 0; m &= m - 1 {
		dst = append(dst, before...)
		switch n := bits.TrailingZeros64(m); 1 << n {
		case pendingBit:
			dst = append(dst, "pending"...)
		case usedBit:
			dst = append(dst, "used"...)
		default:
			dst = fmt.Appendf(dst, "%d", n)
		}
		before = " "
	}
	return append(dst, ')')
}
