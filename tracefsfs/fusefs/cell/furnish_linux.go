package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// furnish makes of the host's mounts, of which the calling process has a copy, those of
// the cell.
func furnish(p plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	trees, err := takeTrees(p)
	if err != nil {
		return err
	}
	dev, err := takeDevices()
	if err != nil {
		return err
	}
	if err := hide(); err != nil {
		return err
	}
	// What is left is files. None of them is a device or gives rights.
	if err := restrict("/", unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID, unix.AT_RECURSIVE); err != nil {
		return err
	}
	if err := mountProc(p.Network); err != nil {
		return err
	}
	if err := mountSys(p.Network); err != nil {
		return err
	}
	if err := mountDev(dev, p.Overlays); err != nil {
		return err
	}
	if err := mountDebug(p); err != nil {
		return err
	}
	if err := trees.place(p.Overlays); err != nil {
		return err
	}
	if err := restrict(Debug, unix.MOUNT_ATTR_RDONLY, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if err := addPrograms(p.Programs); err != nil {
		return err
	}
	return check()
}

// restrict sets attributes of a mount.
func restrict(path string, attr uint64, flags uint) error {
	if err := unix.MountSetattr(unix.AT_FDCWD, path, flags, &unix.MountAttr{Attr_set: attr}); err != nil {
		return fmt.Errorf("restrict %s (this needs Linux 5.12): %w", path, err)
	}
	return nil
}

// trees are the server's mounts, by descriptors.
type trees struct {
	tracing, again int
	overlays       []int
}

// takeTrees takes the server's mounts before their places are covered.
func takeTrees(p plan) (t trees, err error) {
	take := func(path string) (fd int) {
		if err == nil {
			if fd, err = unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err != nil {
				err = fmt.Errorf("the emulation's %s: %w", path, err)
			}
		}
		return fd
	}
	t.tracing, t.again = take(treeDir), take(treeDir)
	for i := range p.Overlays {
		t.overlays = append(t.overlays, take(filepath.Join(filesDir, strconv.Itoa(i))))
	}
	return t, err
}

// place puts the trees where they are looked for. In debugfs the tree stands a second
// time.
//
// Kernel: tracer_init_tracefs and trace_automount, kernel/trace/trace.c.
func (t trees) place(overlays []string) error {
	move := func(fd int, path string) error {
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("overlay of %s: %w", path, err)
		}
		return unix.Close(fd)
	}
	if err := move(t.tracing, Tracing); err != nil {
		return err
	}
	absent := func(err error) bool { return errors.Is(err, unix.ENOENT) } // the place, on the host
	for i, path := range overlays {
		if err := move(t.overlays[i], path); err != nil && !absent(err) {
			return err
		}
	}
	if err := move(t.again, debugTracing); err != nil && !absent(err) {
		return err
	}
	return nil
}

// debugTracing is the tree's second place.
var debugTracing = filepath.Join(Debug, "tracing")

// mountDebug makes a debugfs with places for what stands in it. A host whose sysfs has no
// place for debugfs gets none.
func mountDebug(p plan) error {
	err := unix.Mount(p.DebugSource, Debug, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755,size=64k")
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", Debug, err)
	}
	for _, path := range append([]string{debugTracing}, p.Overlays...) {
		if filepath.Dir(path) != Debug {
			continue
		}
		if err := unix.Mkdir(path, 0o755); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// mountProc mounts the processes of the cell, and sets what is set there. Nothing there can
// be written then but overlays.
func mountProc(network bool) error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("a /proc of its own: %w (a container that hides parts of /proc does not allow one)", err)
	}
	if err := setPIDs(); err != nil {
		return err
	}
	if !network {
		if err := loopback(); err != nil {
			return fmt.Errorf("loopback: %w", err)
		}
	}
	return restrict("/proc", unix.MOUNT_ATTR_RDONLY, 0)
}

// mountSys mounts a /sys without what is mounted in the host's. Nothing there can be
// written but overlays.
func mountSys(network bool) error {
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		why := "a container that hides parts of /sys does not allow one"
		if network {
			why = "without root the cell must have a network of its own"
		}
		return fmt.Errorf("a /sys of its own: %w (%s)", err, why)
	}
	return restrict("/sys", unix.MOUNT_ATTR_RDONLY, 0)
}

// sbin is where programs are looked for that a client runs.
const sbin = "/usr/sbin"

// addPrograms puts scripts into the system's programs, over ones of the same name.
func addPrograms(programs map[string]string) error {
	if len(programs) == 0 {
		return nil
	}
	// On /dev/shm, which is the cell's and still empty.
	if err := unix.Mount("ftracelab", shm, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("programs of the cell: %w", err)
	}
	for name, text := range programs {
		path := filepath.Join(shm, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o755); err != nil { // whatever the umask
			return err
		}
	}
	if err := unix.Mount("ftracelab", sbin, "overlay", unix.MS_NOSUID|unix.MS_NODEV, "lowerdir="+shm+":"+sbin); err != nil {
		return fmt.Errorf("programs of the cell over %s: %w", sbin, err)
	}
	return unix.Unmount(shm, unix.MNT_DETACH)
}

// loopback takes the network's one device up. ping needs no right there.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return err
	}
	for _, groups := range []string{"0 2147483647", "0 0"} { // a user namespace may have one group
		if err = os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(groups), 0); err == nil {
			return nil
		}
	}
	return err
}
