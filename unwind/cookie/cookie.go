// Package cookie joins user stacks that were unwound later to the events that asked for
// them: an event records a cookie, and the stack comes with the same cookie once the
// task returns to user space.
package cookie

import "math/bits"

// ID names one stay of a task in the kernel. 0 is no cookie.
//
// Kernel: union unwind_task_id, include/linux/unwind_deferred_types.h, as a
// little-endian machine prints it. See [Layout] for the other one.
type ID uint64

// New makes the cookie for a count of a CPU.
func New(cpu int, count uint32) ID {
	return ID(count)<<32 | ID(uint32(cpu+1))
}

// Layout is how a cookie is made of a CPU and its count.
type Layout uint8

const (
	// Counted is the layout of Linux 6.17: the CPU and a count of 32 bits, one word each.
	Counted Layout = iota
	// January2025 is the layout of the first series for ftrace and perf: the CPU in the
	// upper 16 bits, and a count of 48 bits below.
	//
	// Kernel: ctx_to_cookie, kernel/unwind/deferred.c of that series.
	January2025
)

// January makes a cookie of the layout January2025, whose counts begin with 1. It repeats
// after 2^48 stays that a CPU has begun, a New one after 2^31. In exchange it can only be
// set as a whole: a machine that exchanges 32 bits at once cannot make it in an NMI.
func January(cpu int, count uint64) ID { return ID(uint64(cpu)<<48 | count&(1<<48-1)) }

// January is the CPU and the count of a cookie of the layout January2025.
func (c ID) January() (cpu int, count uint64) { return int(c >> 48), uint64(c) & (1<<48 - 1) }

// CPU is the CPU that made the cookie; it is -1 for no cookie.
func (c ID) CPU() int { return int(uint32(c)) - 1 }

// Count is the CPU's count: 3, 5, 7 and so on.
func (c ID) Count() uint32 { return uint32(c >> 32) }

// BigEndian is the cookie as a big-endian machine stores it in one number.
func (c ID) BigEndian() uint64 { return bits.RotateLeft64(uint64(c), 32) }
