package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

type device struct {
	name         string
	major, minor uint32
}

// devices are those of a cell: they hold nothing and lead nowhere.
var devices = []device{{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}}

// devLinks are the symbolic links beside them.
var devLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
}

// shm is POSIX shared memory.
const shm = "/dev/shm"

// takeDevices takes the host's devices, by descriptors, before they are covered: in a user
// namespace nobody can make one.
func takeDevices() (fds []int, err error) {
	for _, d := range devices {
		fd, err := unix.OpenTree(unix.AT_FDCWD, d.path(), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, fmt.Errorf("%s: %w", d.path(), err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func (d device) path() string { return filepath.Join("/dev", d.name) }

// mountDev mounts a /dev with devices of the cell's own, and with a place for each overlay
// there.
func mountDev(host []int, overlays []string) error {
	if err := unix.Mount("ftracelab", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("a /dev of its own: %w", err)
	}
	for i, d := range devices {
		if err := d.add(host[i]); err != nil {
			return fmt.Errorf("%s: %w", d.path(), err)
		}
	}
	for _, path := range overlays {
		if filepath.Dir(path) != "/dev" {
			continue
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
	}
	for name, target := range devLinks {
		if err := os.Symlink(target, filepath.Join("/dev", name)); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		path, fstype string
		flags        uintptr
		options      string
	}{
		{"/dev/pts", "devpts", 0, "newinstance,ptmxmode=666,mode=620"},
		{shm, "tmpfs", unix.MS_NODEV, "mode=1777"},
	} {
		if err := os.Mkdir(m.path, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("ftracelab", m.path, m.fstype, unix.MS_NOSUID|unix.MS_NOEXEC|m.flags, m.options); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// add makes a device, or puts the host's there where there is no right to make one.
func (d device) add(host int) error {
	err := unix.Mknod(d.path(), unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor)))
	if err == nil {
		return unix.Chmod(d.path(), 0o666) // whatever the umask
	}
	if !errors.Is(err, unix.EPERM) || host < 0 {
		return err
	}
	if err := os.WriteFile(d.path(), nil, 0o666); err != nil {
		return err
	}
	return unix.MoveMount(host, "", unix.AT_FDCWD, d.path(), unix.MOVE_MOUNT_F_EMPTY_PATH)
}
