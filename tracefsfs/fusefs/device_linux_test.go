package fusefs_test

import (
	"errors"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a client may have answered in full can be large: an attribute, or an ioctl. A
// request that is not served fails with its own errno all the same.
func TestLargeAnswers(t *testing.T) {
	m := mountLab(t)
	buf := make([]byte, 64<<10)
	if _, err := unix.Getxattr(filepath.Join(m.Dir(), "trace"), "user.a", buf); !errors.Is(err, unix.ENOTSUP) {
		t.Errorf("getxattr: %v, want ENOTSUP", err)
	}
	fd, err := unix.Open(filepath.Join(m.Dir(), "trace"), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const largest = 2<<30 | (1<<14-1)<<16 | 'x'<<8 | 1 // it reads so many bytes
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), largest, uintptr(unsafe.Pointer(&buf[0]))); errno != unix.ENOTTY {
		t.Errorf("ioctl: %v, want ENOTTY", errno)
	}
}
