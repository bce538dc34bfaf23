package unwind

import "math/bits"

// Cookie names one stay of a task in the kernel. 0 is no cookie.
//
// Kernel: union unwind_task_id, include/linux/unwind_deferred_types.h, as a
// little-endian machine prints it.
type Cookie uint64

// NewCookie makes the cookie of a CPU's count.
func NewCookie(cpu int, count uint32) Cookie {
	return Cookie(count)<<32 | Cookie(uint32(cpu+1))
}

// CPU is the CPU that made the cookie, -1 for no cookie.
func (c Cookie) CPU() int { return int(uint32(c)) - 1 }

// Count is the CPU's count: 3, 5, 7 and so on.
func (c Cookie) Count() uint32 { return uint32(c >> 32) }

// BigEndian is the cookie as a big-endian machine stores it in one number.
func (c Cookie) BigEndian() uint64 { return bits.RotateLeft64(uint64(c), 32) }
