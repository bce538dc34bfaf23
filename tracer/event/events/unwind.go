package events

import "ftracelab/tracer/event"

// unwindTypes are the two entries for deferred user stacks, in the system ftrace.
//
// Departure: 6.12 has no such events. They follow the sixth revision of the
// patches, which numbers them behind TRACE_BLK; here they take ids above those
// of 6.12's own events, so that no id changes its meaning.
func unwindTypes() []*event.Type {
	return []*event.Type{UserUnwindCookie.Type, UserUnwindStack.Type}
}

// UserUnwindCookieRecord stands for the user stack of the event before it. The
// UserUnwindStackRecord with the same cookie follows when the task returns to user
// space.
type UserUnwindCookieRecord struct {
	Cookie uint64 `c:"u64 cookie"`
}

// UserUnwindCookie is ftrace:user_unwind_cookie.
var UserUnwindCookie = event.Define[UserUnwindCookieRecord](1531, "ftrace", "user_unwind_cookie",
	`"cookie=%lld", REC->cookie`)

// UserUnwindStackRecord is the user stack of every event that has its cookie. The three
// arrays have the same length. Where a file is mapped, Stack has the offset in the
// file, and elsewhere the address. Inodes and Dev name the file (inode ^0: nothing is
// mapped there; 0: no file).
type UserUnwindStackRecord struct {
	Cookie uint64   `c:"u64 cookie"`
	Stack  []uint64 `c:"__data_loc unsigned long[] stack"`
	Inodes []uint64 `c:"__data_loc unsigned long[] inodes"`
	Dev    []uint32 `c:"__data_loc unsigned int[] dev"`
}

// UserUnwindStack is ftrace:user_unwind_stack.
var UserUnwindStack = event.Define[UserUnwindStackRecord](1532, "ftrace", "user_unwind_stack",
	`"cookie=%lld\n%s%s%s", REC->cookie, __print_dynamic_array(stack, sizeof(unsigned long)), __print_dynamic_array(inodes, sizeof(unsigned long)), __print_dynamic_array(dev, sizeof(unsigned int))`)
