package events

import "ftracelab/tracer/event"

// unwindTypes are the two entries for deferred user stacks, in the system ftrace, and the
// event that tells the files in them.
//
// Departure: 6.12 has no such events. They follow the sixth revision of the
// patches, which numbers the entries behind TRACE_BLK; here all three take ids above those
// of 6.12's own events, so that no id changes its meaning.
func unwindTypes() []*event.Type {
	return []*event.Type{UserUnwindCookie.Type, UserUnwindStack.Type, InodeCache.Type}
}

// InodeCacheRecord says which file an inode of a user_unwind_stack is. Dev is major<<20 |
// minor.
type InodeCacheRecord struct {
	Inode uint64 `c:"unsigned long inode"`
	Dev   uint32 `c:"unsigned int dev"`
	Path  string `c:"__data_loc char[] path"`
}

// InodeCache is inode_cache:inode_cache.
var InodeCache = event.Define[InodeCacheRecord](1534, "inode_cache", "inode_cache",
	`"inode=%lu dev=[%u:%u] path=%s", REC->inode, `+blockDev+`, __get_str(path)`)

// UserUnwindCookieRecord stands for the user stack of the event before it. The
// UserUnwindStackRecord with the same cookie follows when the task returns to user
// space.
type UserUnwindCookieRecord struct {
	Cookie uint64 `c:"u64 cookie"`
}

// UserUnwindCookie is ftrace:user_unwind_cookie.
var UserUnwindCookie = event.Define[UserUnwindCookieRecord](1531, "ftrace", "user_unwind_cookie",
	`"cookie=%llx", REC->cookie`)

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
//
// Departure: the series prints the cookie as a decimal number in the format file and as a
// hexadecimal one in trace, and the three arrays with nothing between them, by
// __print_dynamic_array, which trace-cmd 3.1 does not know. Here the format file has the
// number of trace and names the arrays, in words that trace-cmd reads.
var UserUnwindStack = event.Define[UserUnwindStackRecord](1532, "ftrace", "user_unwind_stack",
	`"cookie=%llx stack=%s inodes=%s dev=%s", REC->cookie, __print_array(__get_dynamic_array(stack), __get_dynamic_array_len(stack) / 8, 8), __print_array(__get_dynamic_array(inodes), __get_dynamic_array_len(inodes) / 8, 8), __print_array(__get_dynamic_array(dev), __get_dynamic_array_len(dev) / 4, 4)`)
