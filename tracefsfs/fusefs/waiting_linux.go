package fusefs

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Wanted is a system call, by its number, of which somebody wants to know before it happens.
// A call whose argument Arg has one of the bits of Without is not wanted.
type Wanted struct {
	NR      uint32 `json:"n"`
	Arg     int    `json:"a,omitempty"`
	Without uint32 `json:"w,omitempty"`
}

// Waiting is the system call in which a thread waits; not ok if it runs, has ended, or may
// not be looked at.
//
// Kernel: proc_pid_syscall, fs/proc/base.c.
func Waiting(thread int) (nr int64, args [6]uint64, ok bool) {
	if runtime.GOARCH != "amd64" {
		return 0, args, false
	}
	for range maxLooks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", thread))
		if err != nil {
			return 0, args, false
		}
		if nr, args, ok = ParseSyscall(string(text)); ok {
			return nr, args, true
		}
		runtime.Gosched() // it has just asked, and is not asleep yet
	}
	return 0, args, false
}

// maxLooks is how often a thread is looked at that does not sleep yet.
const maxLooks = 10

// ParseSyscall reads /proc/PID/syscall: a number, six arguments, and where the thread is. It is
// not ok if the thread waits in no system call.
func ParseSyscall(text string) (nr int64, args [6]uint64, ok bool) {
	words := strings.Fields(text)
	if len(words) != 9 {
		return 0, args, false
	}
	nr, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return 0, args, false
	}
	for i := range args {
		if args[i], err = strconv.ParseUint(words[1+i], 0, 64); err != nil {
			return 0, args, false
		}
	}
	return nr, args, true
}
