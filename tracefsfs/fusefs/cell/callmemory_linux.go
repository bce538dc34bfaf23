package cell

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// put writes to the memory of a thread that still waits in its call. It is false if that
// cannot be.
//
// The memory is opened before it is asked whether the caller still waits, so it is the
// caller's whatever happens to its number afterwards.
func (c Call) put(addr uint64, data []byte) bool {
	memory, err := os.OpenFile(procOf(c.TID, "mem"), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer memory.Close() // a failed write is said by WriteAt
	if !c.Waits() {
		return false
	}
	_, err = memory.WriteAt(data, int64(addr))
	return err == nil
}

// fetch reads all of data from the memory of a thread. Whether the thread still waits is for
// the caller to ask.
func (c Call) fetch(addr uint64, data []byte) bool {
	local := []unix.Iovec{{Base: &data[0]}}
	local[0].SetLen(len(data))
	n, err := unix.ProcessVMReadv(c.TID, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(data)}}, 0)
	return err == nil && n == len(data)
}

// bytesOf is what a structure of the kernel's looks like in memory.
func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }
