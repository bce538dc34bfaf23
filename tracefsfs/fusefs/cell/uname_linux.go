package cell

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uname answers a call of uname(2) with what the host says of itself and the release and
// version of the machine's kernel. It is false if the caller's memory cannot be written;
// then the host's kernel answers.
//
// The memory is opened before it is asked whether the caller still waits, so it is the
// caller's whatever happens to its number afterwards.
//
// Kernel: SYSCALL_DEFINE1(newuname), kernel/sys.c.
func (c *Cell) uname(call Call) bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	set(&name.Release, c.release)
	set(&name.Version, c.version)
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", call.TID), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer memory.Close() // a failed write is said by WriteAt
	if !call.Waits() {
		return false
	}
	_, err = memory.WriteAt(unsafe.Slice((*byte)(unsafe.Pointer(&name)), unsafe.Sizeof(name)), int64(call.Args[0]))
	return err == nil
}

// set makes text, cut to what fits, a string of C.
func set(field *[65]byte, text string) {
	clear(field[:])
	copy(field[:len(field)-1], text)
}
