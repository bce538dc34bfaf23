package fusefs

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// sized is a mapping of sub-buffers of 8 KB, a meta page among them.
type sized struct{}

func (sized) Size() (subbuf, all int)               { return 8192, 4 * 8192 }
func (sized) ReadAt(p []byte, _ int64)              { clear(p) }
func (sized) GetReader(context.Context, bool) error { return nil }
func (sized) Refresh() bool                         { return false }
func (sized) Unread([]byte)                         {}
func (sized) Pending() bool                         { return false }
func (sized) Take([]byte) (int, bool)               { return 0, false }
func (sized) Close()                                {}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		call Mmap
		want error
	}{
		{Mmap{Prot: unix.PROT_READ, Len: 4096}, nil},
		{Mmap{Prot: unix.PROT_READ, Len: 4 * 8192}, nil},
		{Mmap{Prot: unix.PROT_READ, Len: 3 * 8192, Offset: 8192}, nil},
		{Mmap{Prot: unix.PROT_READ, Len: 4*8192 + 1}, syscall.EINVAL},
		{Mmap{Prot: unix.PROT_READ, Len: 2 * 8192, Offset: 3 * 8192}, syscall.EINVAL},
		{Mmap{Prot: unix.PROT_READ, Len: 8192, Offset: 4096}, syscall.EINVAL},
		{Mmap{Prot: unix.PROT_READ, Len: 8192, Offset: 4 * 8192}, syscall.EINVAL},
		{Mmap{Prot: unix.PROT_READ, Len: 1 << 63, Offset: 1 << 63}, syscall.EINVAL},
		{Mmap{Prot: unix.PROT_READ | unix.PROT_WRITE, Len: 4096}, syscall.EPERM},
		{Mmap{Prot: unix.PROT_EXEC, Len: 4096}, syscall.EPERM},
	} {
		if err := fits(tt.call, sized{}); !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.call, err, tt.want)
		}
	}
}
