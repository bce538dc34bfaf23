package fusefs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// abortSwitch opens the file by which the connection of the mount on dir can be aborted,
// however the mount is used and whether it can be reached by a path or not. It is of a
// file system for that purpose, which need not be mounted anywhere. -1: it cannot be had,
// and a forced unmount has to do.
//
// Kernel: fuse_conn_abort_write, fs/fuse/control.c.
func abortSwitch(dir string) int {
	st, err := statMount(dir)
	if err != nil {
		return -1
	}
	fs, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1
	}
	root, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(root)
	fd, err := unix.Openat(root, fmt.Sprintf("%d/abort", st.Dev_minor), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// cut aborts the connection: each request that waits is answered by an error. Nothing
// happens if it has ended before.
func (m *held) cut() {
	if m.abort >= 0 {
		_, _ = unix.Write(m.abort, []byte("1"))
	}
}

func (m *held) close() {
	if m.abort >= 0 {
		unix.Close(m.abort)
	}
}

// mountOf is the number of the mount that a path is in.
func mountOf(path string) (uint64, error) {
	st, err := statMount(path)
	return st.Mnt_id, err
}

// statMount looks at what stands at a path. It asks no server, which may be gone. It
// needs Linux 5.8.
func statMount(path string) (st unix.Statx_t, err error) {
	const flags = unix.AT_STATX_DONT_SYNC | unix.AT_NO_AUTOMOUNT | unix.AT_SYMLINK_NOFOLLOW
	err = unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_MNT_ID, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID == 0 {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return st, fmt.Errorf("the mount at %s: %w", path, err)
	}
	return st, nil
}
