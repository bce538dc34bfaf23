package cell

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// A program that maps trace_pipe_raw has a FIFO, which cannot be mapped. Before it makes the
// call, the server puts another file in the place of its descriptor (fusefs.Mount.Map).
// Programs map files privately, as a rule, and do not share them; only shared mappings are
// observed.

// Layout of struct seccomp_data for mmap.
const (
	dataFlags = dataArg0 + 3*8
	argLen    = 1
	argProt   = 2
	argFlags  = 3
	argFD     = 4
	argOffset = 5
)

// sharedMmap notifies of each call of mmap that shares a file. The number of the call has
// been loaded. Of MAP_SHARED_VALIDATE, too, MAP_SHARED is a bit.
func sharedMmap() []unix.SockFilter {
	return []unix.SockFilter{
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_MMAP, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: dataFlags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MAP_ANONYMOUS, Jt: 2},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MAP_SHARED, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	}
}

// sharesFile reports whether a call is one of which sharedMmap notifies.
func sharesFile(c Call) bool {
	return c.NR == unix.SYS_MMAP && c.Args[argFlags]&unix.MAP_ANONYMOUS == 0 && c.Args[argFlags]&unix.MAP_SHARED != 0
}

// mmap says how a call of mmap ends, as fusefs.Mount.Map.
func (c *Cell) mmap(call Call) (file, flags int, err error) {
	return c.tracing.Map(fusefs.Mmap{
		Thread: call.TID, FD: int(int32(call.Args[argFD])), Prot: int(call.Args[argProt]),
		Len: call.Args[argLen], Offset: call.Args[argOffset],
	})
}

// replace puts the file that mmap gives in the place of the descriptor that a call maps. An
// error is what the call is to fail with.
func replace(listener int, call Call, id uint64, mmap func(Call) (file, flags int, err error)) error {
	file, flags, err := mmap(call)
	if err != nil || file < 0 {
		return err
	}
	defer unix.Close(file)
	put := addFD{
		ID: id, Flags: unix.SECCOMP_ADDFD_FLAG_SETFD, Src: uint32(file), New: uint32(call.Args[argFD]),
		NewFlags: uint32(flags & unix.O_CLOEXEC),
	}
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&put))
}

// addFDSend makes a call return the descriptor that it is given. Before Linux 5.14 there is
// no such flag.
const addFDSend = 1 << 1

// addFD is struct seccomp_notif_addfd of the kernel.
//
// Kernel: include/uapi/linux/seccomp.h.
type addFD struct {
	ID                        uint64
	Flags, Src, New, NewFlags uint32
}
