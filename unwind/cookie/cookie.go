// Package cookie joins user stacks that were unwound later to the events that asked for
// them: an event records a cookie, and the stack comes with the same cookie once the
// task returns to user space.
package cookie

import "math/bits"

// ID names one stay of a task in the kernel. 0 is no cookie.
//
// Kernel: union unwind_task_id, include/linux/unwind_deferred_types.h, as a
// little-endian machine prints it.
type ID uint64

// New makes the cookie for a count of a CPU.
func New(cpu int, count uint32) ID {
	return ID(count)<<32 | ID(uint32(cpu+1))
}

// CPU is the CPU that made the cookie; it is -1 for no cookie.
func (c ID) CPU() int { return int(uint32(c)) - 1 }

// Count is the CPU's count: 3, 5, 7 and so on.
func (c ID) Count() uint32 { return uint32(c >> 32) }

// BigEndian is the cookie as a big-endian machine stores it in one number.
func (c ID) BigEndian() uint64 { return bits.RotateLeft64(uint64(c), 32) }
