package cell

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are the system calls that end with EPERM in a cell, as they do without the
// right to them.
var forbidden = []uint32{
	// What is mounted where.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	// Files that have no path here.
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	// Other namespaces; unshare and clone are looked at more closely.
	unix.SYS_SETNS,
	// The kernel: another one, modules, programs in it, its keys. syslog is
	// forbidden, too, where nobody answers it.
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_BPF, unix.SYS_ACCT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// The clock and the name of the computer.
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	// What attacks on the kernel use and no client needs. io_uring does system calls that
	// no filter sees.
	unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_FANOTIFY_INIT,
	unix.SYS_VHANGUP,
}

// namespaces are the flags of clone and unshare that make a namespace.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// ioctls that put what a program likes into the input of the terminal that it was started
// from.
const tioclinux = 0x541c

// Layout of struct seccomp_data, of whose arguments these use the lower half.
const (
	dataNr   = 0
	dataArch = 4
	dataArg0 = 16
	dataArg1 = 24
)

// filter is the seccomp program of a cell, in which perf_event_open and sockets between
// virtual machines are there or not. syslog says that somebody answers calls of syslog, so
// that they need not be forbidden.
//
// A call of another architecture ends the process, because its numbers mean other calls.
// One of x32, which amd64 has beside its own, is ENOSYS as on most kernels. clone3 is
// ENOSYS, because a filter cannot read what its argument points to; C libraries then use
// clone.
//
// Kernel: include/uapi/linux/seccomp.h; the words are those of a classic BPF.
func filter(perfEvents, network, syslog bool) ([]unix.SockFilter, error) {
	arch, ok := auditArch[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("a cell on %s: %w", runtime.GOARCH, errors.ErrUnsupported)
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	result := func(action uint32, errno syscall.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action | uint32(errno)}
	}
	// unless skips so many words unless the condition on what was loaded is true.
	unless := func(condition uint16, k uint32, words uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | condition | unix.BPF_K, K: k, Jf: words}
	}
	allow := result(unix.SECCOMP_RET_ALLOW, 0)
	eperm := result(unix.SECCOMP_RET_ERRNO, unix.EPERM)
	enosys := result(unix.SECCOMP_RET_ERRNO, unix.ENOSYS)

	f := []unix.SockFilter{
		load(dataArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		result(unix.SECCOMP_RET_KILL_PROCESS, 0),
		load(dataNr),
	}
	if runtime.GOARCH == "amd64" {
		f = append(f, unless(unix.BPF_JGE, 1<<30, 1), enosys)
	}
	numbers := slices.Concat(forbidden, forbiddenHere)
	if !perfEvents {
		numbers = append(numbers, unix.SYS_PERF_EVENT_OPEN)
	}
	if !syslog {
		numbers = append(numbers, unix.SYS_SYSLOG)
	}
	for _, nr := range numbers {
		f = append(f, unless(unix.BPF_JEQ, nr, 1), eperm)
	}
	f = append(f, unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), enosys)
	for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		f = append(f, unless(unix.BPF_JEQ, nr, 4), load(dataArg0), unless(unix.BPF_JSET, namespaces, 1), eperm, allow)
	}
	if !network { // sockets between virtual machines are in no namespace
		f = append(f, unless(unix.BPF_JEQ, unix.SYS_SOCKET, 4), load(dataArg0), unless(unix.BPF_JEQ, unix.AF_VSOCK, 1),
			result(unix.SECCOMP_RET_ERRNO, unix.EAFNOSUPPORT), allow)
	}
	return append(f,
		unless(unix.BPF_JEQ, unix.SYS_IOCTL, 5), load(dataArg1), unless(unix.BPF_JEQ, unix.TIOCSTI, 1), eperm,
		unless(unix.BPF_JEQ, tioclinux, 1), eperm,
		allow), nil
}

var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// install makes f a filter of the calling thread and what it executes, which must have
// no_new_privs. It returns a descriptor if the flags ask for one.
func install(f []unix.SockFilter, flags uintptr) (fd int, err error) {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(r), nil
}
