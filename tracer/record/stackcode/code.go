// Package stackcode writes a stack as what it shares with another one, the reference,
// and the rest. Two stacks of a task mostly begin in the same callers, so their outer
// addresses are the same.
//
//	shared  how many of the outermost addresses are those of the reference
//	own     how many addresses follow, the inner ones
//	rest    these addresses, as the Code says
//
// Nothing else is needed to read a stack again: neither a map nor symbols.
package stackcode

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Code is how the addresses are written that a stack does not share.
type Code uint8

const (
	// Prefix writes each with all of its 8 bytes, innermost first.
	Prefix Code = iota
	// Delta writes differences, outermost first, as varints whose sign is in the lowest
	// bit. The outermost address is the difference to what the reference has in its
	// place, often another call of the same function. If the reference ends there, and
	// for all other addresses, it is the difference to the caller; without a caller,
	// to 0, to which the addresses of a kernel are near as signed numbers.
	Delta
)

// String is the name as a flag spells it.
func (c Code) String() string {
	switch c {
	case Prefix:
		return "prefix"
	case Delta:
		return "delta"
	}
	return fmt.Sprintf("code(%d)", uint8(c))
}

// MaxDepth is how many addresses a stack may have: the counts have 16 bits.
const MaxDepth = 1<<16 - 1

const wordSize = 8

// Shared counts the outermost addresses that two stacks have in common. Stacks are
// innermost first.
func Shared(a, b []uint64) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// Append appends the rest of ips, which has at most MaxDepth addresses and shares that
// many with ref, to dst.
func (c Code) Append(dst []byte, ref, ips []uint64, shared int) []byte {
	own := ips[:len(ips)-shared]
	if c == Prefix {
		for _, ip := range own {
			dst = binary.LittleEndian.AppendUint64(dst, ip)
		}
		return dst
	}
	base := first(ref, shared)
	for n := len(own) - 1; n >= 0; n-- {
		dst = binary.AppendVarint(dst, int64(own[n]-base))
		base = own[n]
	}
	return dst
}

// first is the address from which the outermost address of the rest is counted.
func first(ref []uint64, shared int) uint64 {
	if shared < len(ref) {
		return ref[len(ref)-1-shared]
	}
	if shared > 0 {
		return ref[0]
	}
	return 0
}

var (
	errShort  = errors.New("the record ends within an address")
	errLonger = errors.New("something follows the last address")
)

// Decode appends the stack to dst that shares so many addresses with ref and whose rest,
// of own addresses, is at the beginning of data. The bytes that a ring buffer puts behind
// it are zero. dst and ref have no memory in common. On an error dst is returned as it was.
func (c Code) Decode(dst, ref []uint64, own, shared int, data []byte) ([]uint64, error) {
	switch {
	case shared > len(ref):
		return dst, fmt.Errorf("it shares %d addresses with a stack of %d", shared, len(ref))
	case own > len(data) || c == Prefix && own > len(data)/wordSize: // before room is made for them
		return dst, errShort
	}
	out, at := dst, 0
	for range own {
		out = append(out, 0)
	}
	rest := out[len(dst):]
	base := first(ref, shared)
	for n := range rest {
		if c == Prefix {
			rest[n] = binary.LittleEndian.Uint64(data[at:])
			at += wordSize
			continue
		}
		d, size := binary.Varint(data[at:])
		if size <= 0 {
			return dst, errShort
		}
		base += uint64(d)
		rest[own-1-n] = base
		at += size
	}
	for _, b := range data[at:] {
		if b != 0 {
			return dst, errLonger
		}
	}
	return append(out, ref[len(ref)-shared:]...), nil
}
