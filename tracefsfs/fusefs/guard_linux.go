package fusefs

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// UnmountAfter takes away the mount on dir with the number id (Mount.ID) after its
// server: when server, a pipe that only the server's process has open for writing,
// has ended. A server that ends as it should unmounts before, and nothing is left to
// do; what else stands on dir by then is left alone.
//
// It is for a process of its own: one that is killed cannot unmount, and leaves a
// folder that answers ENOTCONN.
func UnmountAfter(dir string, id uint64, server io.Reader) error {
	if _, err := io.Copy(io.Discard, server); err != nil {
		return err
	}
	if now, err := mountOf(dir); err != nil || now != id {
		return nil // it is gone, or another one
	}
	return unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// ID is the number that the mount has as long as it is there. It needs Linux 5.8.
func (m *Mount) ID() (uint64, error) { return mountOf(m.dir) }

// mountOf is the number of the mount that a path is in. It asks no server, which may
// be gone.
func mountOf(path string) (uint64, error) {
	const flags = unix.AT_STATX_DONT_SYNC | unix.AT_NO_AUTOMOUNT | unix.AT_SYMLINK_NOFOLLOW
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_MNT_ID, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID == 0 {
		err = errors.ErrUnsupported // Linux before 5.8
	}
	if err != nil {
		return 0, fmt.Errorf("the mount at %s: %w", path, err)
	}
	return st.Mnt_id, nil
}
