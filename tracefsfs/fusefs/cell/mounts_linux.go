package cell

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountPoint is a line of mountinfo(5).
type mountPoint struct {
	id                   uint64
	path, fstype, source string
}

// mounts reads the mounts of this process, in the order they were made.
func mounts() ([]mountPoint, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text)), nil
}

func parseMounts(text string) []mountPoint {
	var list []mountPoint
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			continue
		}
		for i := 6; i+2 < len(fields); i++ {
			if fields[i] == "-" {
				list = append(list, mountPoint{id, unescape(fields[4]), fields[i+1], unescape(fields[i+2])})
				break
			}
		}
	}
	return list
}

// unescape undoes the kernel's \040 for blanks.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// interfaces are the file systems by which the host's kernel is looked at and told what to
// do. No client needs one of them but those that a cell mounts anew.
var interfaces = []string{
	"proc", "sysfs", "devtmpfs", "devpts", "mqueue", "tracefs", "debugfs", "securityfs", "configfs", "bpf", "cgroup", "cgroup2",
	"fusectl", "pstore", "efivarfs", "binfmt_misc", "selinuxfs", "smackfs", "apparmorfs", "resctrl", "hugetlbfs", "nsfs", "nfsd",
	"rpc_pipefs", "dlmfs", "xenfs", "functionfs", "usbfs",
}

// anew are the folders that a cell has of its own.
var anew = []string{"/proc", "/sys", "/dev"}

// foreign says that a mount of the host must not be in a cell: it is the kernel's, or a
// client may take it for tracefs. Scripts look for the word anywhere in the line.
func (m mountPoint) foreign() bool {
	return slices.Contains(interfaces, m.fstype) || m.anew() || strings.Contains(m.fstype+m.source+m.path, "tracefs")
}

func (m mountPoint) anew() bool {
	return slices.ContainsFunc(anew, func(dir string) bool { return m.path == dir || strings.HasPrefix(m.path, dir+"/") })
}

// found says that who follows the mount's path comes to it, and not to another one over it.
func (m mountPoint) found() (bool, error) {
	const flags = unix.AT_STATX_DONT_SYNC | unix.AT_NO_AUTOMOUNT | unix.AT_SYMLINK_NOFOLLOW
	var st unix.Statx_t
	switch err := unix.Statx(unix.AT_FDCWD, m.path, flags, unix.STATX_MNT_ID, &st); {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w", m.path, err)
	}
	return st.Mnt_id == m.id, nil
}

// hide takes all foreign mounts out, the last first, because mounts stand on each other.
// In a user namespace those of the host cannot go: they are covered, and who lacks the
// right to mount cannot uncover them. Whether it worked is for check to say.
func hide() error {
	list, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(list) {
		if !m.foreign() {
			continue
		}
		if unix.Unmount(m.path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil || m.anew() {
			continue
		}
		if there, err := m.found(); err != nil || !there {
			continue // it went with another one
		}
		err := unix.Mount("ftracelab", m.path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
		if errors.Is(err, unix.ENOTDIR) {
			err = unix.Mount("/dev/null", m.path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide the host's %s at %s: %w", m.fstype, m.path, err)
		}
	}
	return nil
}

// check makes sure that no path leads to a foreign mount, and the tree's to the tree.
func check() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc is not the cell's (%w): refusing to start", err)
	}
	list, err := mounts()
	if err != nil {
		return err
	}
	tracing := false
	for _, m := range list {
		if !m.foreign() {
			continue
		}
		there, err := m.found()
		if err != nil {
			return err
		}
		tracing = tracing || there && m.path == Tracing && m.fstype == "fuse.tracefs"
		if there && !m.ours() {
			return fmt.Errorf("%s (%s) is the host's: refusing to start", m.path, m.fstype)
		}
	}
	if !tracing {
		return fmt.Errorf("%s is not the emulation: refusing to start", Tracing)
	}
	return nil
}

// ours says that a mount is one that a cell makes.
func (m mountPoint) ours() bool {
	switch m.fstype {
	case "proc", "sysfs":
		return m.path == "/"+strings.TrimSuffix(m.fstype, "fs")
	case "devpts":
		return m.path == "/dev/pts"
	case "tmpfs":
		return m.source == "ftracelab" || m.path == Debug
	case "devtmpfs": // a device in a user namespace
		return slices.ContainsFunc(devices, func(d device) bool { return m.path == "/dev/"+d.name })
	}
	return m.fstype == "fuse.ftracelab" || m.fstype == "fuse.tracefs"
}
