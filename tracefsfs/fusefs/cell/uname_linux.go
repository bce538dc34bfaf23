package cell

import (
	"golang.org/x/sys/unix"
)

// uname answers a call of uname(2) with what the host says of itself and the release and
// version of the machine's kernel. It is false if the caller's memory cannot be written;
// then the host's kernel answers.
//
// Kernel: SYSCALL_DEFINE1(newuname), kernel/sys.c.
func (c *Cell) uname(call Call) bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	set(&name.Release, c.release)
	set(&name.Version, c.version)
	return call.put(call.Args[0], bytesOf(&name))
}

// set makes text, cut to what fits, a string of C.
func set(field *[65]byte, text string) {
	clear(field[:])
	copy(field[:len(field)-1], text)
}
