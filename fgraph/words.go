package fgraph

import (
	"fmt"
	"math/bits"
)

// AppendWords appends a line for each word of a stack that is in use, the lowest first:
// its index, its value, and what it is. symbol appends the function at an address.
func (g *Graph) AppendWords(dst []byte, s *Stack, symbol func(dst []byte, addr uint64) []byte) []byte {
	names := []string{"return address", "function"}
	if !g.cfg.NoCalltime {
		names = append(names, "time of the call")
	}
	if g.cfg.SubtimeWord && !g.cfg.NoCalltime {
		names = append(names, "time of its callees")
	}
	names = append(names, "place of the return address")
	what := make([]string, s.top)
	for end := s.top; end > 0; {
		at := s.frame(end)
		if at < 0 {
			break
		}
		copy(what[at:], names)
		for n := range 2 { // where it returns to, and the function
			what[at+n] += " " + string(symbol(nil, s.words[at+n]))
		}
		bitmap := at + len(names)
		for n := end - 1; n >= bitmap; n-- {
			w := s.words[n]
			back := fmt.Sprintf("frame %d below", wordBack(w))
			switch wordType(w) {
			case typeData:
				user, size := wordDataUser(w), wordDataSize(w)
				what[n] = fmt.Sprintf("data word: %s; %d words of user %d", back, size, user)
				for range min(size, n-bitmap-1) {
					n--
					what[n] = fmt.Sprintf("data of user %d", user)
				}
			case typeBitmap:
				what[n] = "bitmap: " + back + "; users" + users(w)
			default:
				what[n] = "reserved: " + back
			}
		}
		end = at
	}
	for n, text := range what {
		dst = fmt.Appendf(dst, "%3d %016x %s\n", n, s.words[n], text)
	}
	return dst
}

// users lists the users that want a return.
func users(w uint64) (text string) {
	wanted := wordBitmap(w)
	if w&notZeroBit != 0 {
		wanted &^= 1
	}
	for ; wanted != 0; wanted &= wanted - 1 {
		text += fmt.Sprintf(" %d", bits.TrailingZeros16(wanted))
	}
	return text
}
