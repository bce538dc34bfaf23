package unwind

import "ftracelab/machine"

// Stop says why a walk ended.
type Stop uint8

const (
	NoUser         Stop = iota // there is no user stack: a kernel thread
	Full                       // the limit of entries was reached
	BelowStack                 // the frame pointer lies below the stack pointer
	WrongDirection             // the next frame would not lie above this one
	Misaligned                 // the frame is not on a word boundary
	Fault                      // the stack could not be read there
)

func (s Stop) String() string {
	switch s {
	case NoUser:
		return "no user stack"
	case Full:
		return "full"
	case BelowStack:
		return "frame pointer below the stack pointer"
	case WrongDirection:
		return "frame in the wrong direction"
	case Misaligned:
		return "misaligned frame"
	case Fault:
		return "fault"
	}
	return "unknown"
}

// Layout of an x86-64 frame that keeps a frame pointer, from its CFA.
const (
	wordSize   = 8
	cfaAboveFP = 2 * wordSize
	raBelow    = 1 * wordSize // the return address
	fpBelow    = 2 * wordSize // the caller's frame pointer
)

// Walk appends the user stack at regs to dst, innermost first, at most limit
// entries: regs.IP itself, then return addresses as far as frame pointers lead.
// A walk never fails: when something is wrong, the stack is what has been found
// so far. It always ends, because each frame must lie above the one before.
//
// Kernel: unwind_user and unwind_user_next, kernel/unwind/user.c.
func Walk(dst []uint64, regs machine.UserRegs, mem machine.UserMemory, limit int) ([]uint64, Stop) {
	if mem == nil {
		return dst, NoUser
	}
	ip, sp, fp := regs.IP, regs.SP, regs.FP
	for n := 0; n < limit; {
		dst = append(dst, ip)
		if n++; n == limit {
			break
		}
		if fp < sp {
			return dst, BelowStack
		}
		cfa := fp + cfaAboveFP
		if cfa <= sp {
			return dst, WrongDirection
		}
		if cfa%wordSize != 0 {
			return dst, Misaligned
		}
		ra, ok := mem.Load(cfa - raBelow)
		if !ok {
			return dst, Fault
		}
		next, ok := mem.Load(cfa - fpBelow)
		if !ok {
			return dst, Fault
		}
		ip, sp, fp = ra, cfa, next
	}
	return dst, Full
}
