package bridge

import (
	"errors"
	"path"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload"
)

// roots is the root of the observed threads, which is the same for all: in a cell, nobody may
// change it. It is opened for the first of them.
type roots struct {
	once sync.Once
	file int // -1: it cannot be opened
}

func (r *roots) of(tid int) (file int, ok bool) {
	r.once.Do(func() {
		var err error
		if r.file, err = unix.Open(proc(tid, "root"), unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			r.file = -1
		}
	})
	return r.file, r.file >= 0
}

// close is called when nobody is observed any more.
func (r *roots) close() {
	if file, ok := r.of(0); ok {
		unix.Close(file)
		r.file = -1
	}
}

// outcome is what a call returns, as far as that can be told before it happens: whether its
// file is there, and what is read of it. Otherwise it is call.Ret. A file is looked for on the
// file system of the thread's root only: another one may be the mount, whose server cannot
// wait for itself.
//
// Kernel: do_sys_openat2, fs/open.c; vfs_statx, fs/stat.c; filename_create, fs/namei.c.
func (r *roots) outcome(tid int, c pathCall, call *workload.Syscall) int64 {
	flags, makes, known := c.way(call.Args)
	name := call.Path
	if c.moves {
		name = call.Target
	}
	root, ok := r.of(tid)
	if !known || name == "" || !ok {
		return call.Ret
	}
	file, err := lookUp(root, tid, folderOf(c, call.Args), name, flags)
	if err == nil {
		defer unix.Close(file)
	}
	switch {
	case makes && err == nil:
		return -int64(unix.EEXIST)
	case !makes && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)):
		return -int64(errnoOf(err))
	case makes || err != nil:
		return call.Ret
	}
	if c.reads == nil {
		return call.Ret
	}
	n, err := c.reads(tid, file, call.Args)
	if err != nil {
		return -int64(errnoOf(err))
	}
	return int64(n)
}

// folderOf is where the relative path of a call begins: the working folder of the thread, or
// a folder that it has open.
func folderOf(c pathCall, args [6]uint64) string {
	if c.at && int32(args[c.path-1]) != unix.AT_FDCWD {
		return "fd/" + strconv.Itoa(int(int32(args[c.path-1])))
	}
	return "cwd"
}

// lookUp finds a file as a thread with that root would, without opening it. An error other
// than ENOENT and ENOTDIR says nothing of what the thread would find.
//
// Kernel: build_open_flags, fs/open.c.
func lookUp(root, tid int, folder, name string, flags uint64) (file int, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS}
	if path.IsAbs(name) {
		how.Resolve |= unix.RESOLVE_IN_ROOT
		return unix.Openat2(root, name, &how)
	}
	from, err := unix.Open(proc(tid, folder), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.ESRCH
	}
	defer unix.Close(from)
	if !sameDevice(from, root) {
		return -1, unix.EXDEV
	}
	return unix.Openat2(from, name, &how)
}

// sameDevice reports whether two folders are on the same file system. It asks no file system:
// the kernel knows it.
//
// Kernel: fuse_update_get_attr, fs/fuse/dir.c.
func sameDevice(a, b int) bool {
	var of [2]unix.Statx_t
	for i, fd := range []int{a, b} {
		if unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, 0, &of[i]) != nil {
			return false
		}
	}
	return of[0].Dev_major == of[1].Dev_major && of[0].Dev_minor == of[1].Dev_minor
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return unix.EIO
	}
	return errno
}

// readsLink is how many bytes readlink(2) gives.
//
// Kernel: do_readlinkat, fs/stat.c.
func readsLink(_, file int, args [6]uint64) (n int, err error) {
	if args[2] > maxLink {
		args[2] = maxLink
	}
	n, err = unix.Readlinkat(file, "", make([]byte, args[2]))
	if errors.Is(err, unix.ENOENT) { // of an open file that is no link
		err = unix.EINVAL
	}
	return n, err
}

// maxLink is how long the target of a link can be.
//
// Kernel: PATH_MAX, include/uapi/linux/limits.h.
const maxLink = 4096

// readsAttribute is how long an extended attribute is.
func readsAttribute(tid, file int, args [6]uint64) (n int, err error) {
	return unix.Getxattr("/proc/self/fd/"+strconv.Itoa(file), fusefs.TextAt(tid, args[1]), nil)
}
