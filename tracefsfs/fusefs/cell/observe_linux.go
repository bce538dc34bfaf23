package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/tracefile"
)

// Call is a system call that a program of the cell is about to make. Its thread waits
// until whoever observes it returns.
type Call struct {
	TID  int   // the thread, as the observing process sees it
	NR   int64 // the number of the call, of this architecture
	Args [6]uint64
	// Waits reports whether the thread still waits. If not, it was killed, and another
	// thread may have its number: what was read of its memory by then means nothing.
	Waits func() bool
	// Give makes the call return a new descriptor of a file, as open(2) does, with these
	// flags; then the call is answered.
	Give func(file, flags int) error

	value *int64 // what the call returns, if it is answered without an error
}

// observerFD is where the first process finds its end of a socket: see letObserve.
const observerFD = planFD + 1

// maxObserved bounds the message that says which calls are to be observed.
const maxObserved = 16 << 10

// letObserve makes the calling thread, and all that it starts, tell of the system calls for
// which the server asks on a socket, which it closes. It hands the listener over on the
// socket, and from then on these calls wait for the server.
func letObserve(socket int) error {
	defer unix.Close(socket)
	buf := make([]byte, maxObserved)
	n, err := unix.Read(socket, buf)
	if err != nil {
		return err
	}
	var calls []fusefs.Wanted
	if err := json.Unmarshal(buf[:n], &calls); err != nil {
		return err
	}
	if len(calls) == 0 {
		return nil
	}
	// Until the listener is handed over, this thread must make no call that is observed: it
	// would wait for ever. So it allocates nothing and asks the scheduler for nothing.
	hand := newHandOver()
	listener, err := listen(calls)
	if err != nil {
		return err
	}
	err = hand.over(socket, listener)
	return errors.Join(err, unix.Close(listener))
}

// handOver is a message with one descriptor.
type handOver struct {
	message unix.Msghdr
	rights  []byte
}

func newHandOver() *handOver {
	h := &handOver{rights: unix.UnixRights(-1)}
	data := unix.Iovec{Base: new(byte)}
	data.SetLen(1)
	h.message.Iov = &data
	h.message.SetIovlen(1)
	h.message.Control = &h.rights[0]
	h.message.SetControllen(len(h.rights))
	return h
}

// over sends the message.
func (h *handOver) over(socket, fd int) error {
	*(*int32)(unsafe.Pointer(&h.rights[unix.CmsgLen(0)])) = int32(fd)
	if _, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(socket), uintptr(unsafe.Pointer(&h.message)), 0); errno != 0 {
		return errno
	}
	return nil
}

// listen installs a filter for the calling thread that notifies of these calls. A signal does not interrupt a call that waits, unless it kills the thread.
//
// Another filter may forbid one of the calls: what it says comes first.
//
// Kernel: seccomp_set_mode_filter and init_listener, kernel/seccomp.c.
func listen(calls []fusefs.Wanted) (listener int, err error) {
	notify := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	f := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: dataNr}}
	for _, c := range calls {
		is := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: c.NR, Jf: 1}
		if c.Without == 0 {
			f = append(f, is, notify)
			continue
		}
		is.Jf = 4
		f = append(f, is,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: dataArg0 + 8*uint32(c.Arg)},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: c.Without, Jt: 1},
			notify, allow)
	}
	f = append(f, sharedMmap()...)
	f = append(f, allow)
	return install(f, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

// observed is the server's end of the socket.
type observed struct{ ours, theirs int }

func newObserved() (observed, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return observed{ends[0], ends[1]}, err
}

// ask says which calls are to be observed. It is called before the first process is
// started, and takes its end of the socket, which the caller closes.
func (o observed) ask(calls []fusefs.Wanted) (*os.File, error) {
	text, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	if len(text) > maxObserved {
		return nil, fmt.Errorf("observe %d calls: %w", len(calls), unix.E2BIG)
	}
	theirs := os.NewFile(uintptr(o.theirs), "observed")
	if _, err := unix.Write(o.ours, text); err != nil {
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}

// follow tells of each call until nobody is left who makes one. Before Linux 6.11, it then
// waits for ever. Without a listener it returns at once. A call that tell has answered does
// not reach the kernel: it returns the value, 0 at first, what Give gave, or the error. A
// call of mmap that shares a file also goes to mmap, which says how it ends.
//
// Kernel: seccomp_notify_recv, kernel/seccomp.c.
func (o observed) follow(tell func(Call) (answered bool, err error), mmap func(Call) (file, flags int, err error)) {
	listener, err := o.listener()
	unix.Close(o.ours)
	if err != nil {
		return
	}
	defer unix.Close(listener)
	// The caller and this thread take turns: on one CPU, waking each other costs a tenth
	// of what it does across two. Before Linux 6.6 there is no such flag.
	_ = unix.IoctlSetInt(listener, unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	// Programs wait for this thread, so it comes first where it may. It ends with the
	// goroutine.
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	for {
		var n notification
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if !used(listener) {
				return
			}
			continue // the thread was killed meanwhile, or this one got a signal
		}
		id := n.ID
		call := Call{TID: int(n.PID), NR: int64(n.NR), Args: n.Args, Waits: func() bool {
			return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == nil
		}}
		given := false
		call.Give = func(file, flags int) error {
			put := addFD{ID: id, Flags: addFDSend, Src: uint32(file), NewFlags: uint32(flags & unix.O_CLOEXEC)}
			err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&put))
			given = err == nil
			return err
		}
		answer := answer{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		call.value = &answer.Val
		answered, err := tell(call)
		if sharesFile(call) {
			err = replace(listener, call, id, mmap)
			answered = err != nil
		}
		if answered {
			answer.Flags = 0
			if err != nil {
				answer.Error = -int32(tracefile.Errno(err))
			}
		}
		if given {
			continue
		}
		_ = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)) // if it was killed nobody waits
	}
}

// listener takes the listener that the first process hands over.
func (o observed) listener() (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	for {
		_, n, _, _, err := unix.Recvmsg(o.ours, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, err
		}
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || len(messages) != 1 {
			return -1, errors.Join(unix.ENOTCONN, err)
		}
		fds, err := unix.ParseUnixRights(&messages[0])
		if err != nil || len(fds) != 1 {
			return -1, errors.Join(unix.ENOTCONN, err)
		}
		return fds[0], nil
	}
}

// used reports whether anybody is left who could make a call.
func used(listener int) bool {
	fds := []unix.PollFd{{Fd: int32(listener)}}
	_, err := unix.Poll(fds, 0)
	return errors.Is(err, unix.EINTR) || err == nil && fds[0].Revents&unix.POLLHUP == 0
}

// notification is struct seccomp_notif of the kernel, with its struct seccomp_data.
//
// Kernel: include/uapi/linux/seccomp.h.
type notification struct {
	ID         uint64
	PID, Flags uint32
	NR         int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
