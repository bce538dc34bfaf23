package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ftracelab/internal/tracefile"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
)

// mountPoint is a line of mountinfo(5).
type mountPoint struct {
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
		for i := 6; i+2 < len(fields); i++ {
			if fields[i] == "-" {
				list = append(list, mountPoint{unescape(fields[4]), fields[i+1], unescape(fields[i+2])})
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

// tracing says that a client may take a mount for tracefs, or finds tracefs below
// it. Scripts look for the word anywhere in the line.
func (m mountPoint) tracing() bool {
	return m.fstype == "tracefs" || m.fstype == "debugfs" ||
		strings.Contains(m.fstype+m.source+m.path, "tracefs")
}

// hide takes all mounts out that are tracefs or look so. Each round takes one off,
// the last first, because mounts may stand on each other.
func hide() error {
	before := -1
	for {
		list, err := mounts()
		if err != nil {
			return err
		}
		var found []mountPoint
		for _, m := range list {
			if m.tracing() {
				found = append(found, m)
			}
		}
		if len(found) == 0 {
			return nil
		}
		if before >= 0 && len(found) >= before {
			return fmt.Errorf("the host's tracing at %s cannot be hidden: refusing to start", found[0].path)
		}
		before = len(found)
		last := found[len(found)-1]
		if err := unix.Unmount(last.path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("hide the host's tracing at %s: %w", last.path, err)
		}
	}
}

// check makes sure that every path to tracing is ours.
func (c *Cell) check() error {
	list, err := mounts()
	if err != nil {
		return err
	}
	ours := 0
	for _, m := range list {
		switch {
		case m.path == Tracing && m.fstype == "fuse.tracefs":
			ours++
		case m.tracing() && m.fstype != "fuse.tracefs":
			return fmt.Errorf("%s (%s) is the host's tracing: refusing to start", m.path, m.fstype)
		}
	}
	info, err := c.helper.Stat(Tracing)
	if err != nil {
		return err
	}
	if ours != 1 || info.FSType != unix.FUSE_SUPER_MAGIC {
		return fmt.Errorf("%s is not the emulation: refusing to start", Tracing)
	}
	return nil
}

// overlay binds files of a second FUSE over the host's. Its name must not have
// "tracefs" in it.
func (c *Cell) overlay(overlays []Overlay, before func(fusefs.Request)) error {
	var nodes []tracefile.Node
	for i, o := range overlays {
		switch n := o.Node.(type) {
		case *tracefile.Dir:
			dir := *n
			dir.Name = strconv.Itoa(i)
			nodes = append(nodes, &dir)
		case *tracefile.File:
			file := *n
			if o.NoWrite {
				file = *n.OnWrite(func([]byte) error {
					return tracefile.Errorf(syscall.EIO, "%s has no write operation", o.Path)
				})
			}
			file.Name = strconv.Itoa(i)
			nodes = append(nodes, &file)
		}
	}
	dir, err := os.MkdirTemp("", "ftracelab-*")
	if err != nil {
		return err
	}
	// The folder is only the way to the binds: it goes with its last mount.
	defer func() { _ = os.Remove(dir) }()
	root := &tracefile.Dir{Mode: 0o755, Children: func() []tracefile.Node { return nodes }}
	c.host, err = fusefs.New(dir, fusefs.Config{
		FS: tracefsfs.New(root), Source: "ftracelab", Type: "ftracelab", Before: absolute(overlays, before),
		Helper: c.helper, NotSelf: true,
	})
	if err != nil {
		return err
	}
	for i, o := range overlays {
		err := c.helper.Bind(filepath.Join(dir, strconv.Itoa(i)), o.Path)
		switch {
		case err == nil:
			c.binds = append(c.binds, o.Path)
		case !errors.Is(err, unix.ENOENT):
			return fmt.Errorf("overlay of %s: %w", o.Path, err)
		}
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// absolute gives before the paths at which overlays stand.
func absolute(overlays []Overlay, before func(fusefs.Request)) func(fusefs.Request) {
	if before == nil {
		return nil
	}
	return func(r fusefs.Request) {
		number, below, _ := strings.Cut(r.Path, "/")
		if i, err := strconv.Atoi(number); err == nil && i < len(overlays) {
			r.Path = filepath.Join(overlays[i].Path, below)
			if overlays[i].NoWrite && r.Op == fusefs.OpWrite {
				r.Errno = syscall.EIO
			}
			before(r)
		}
	}
}

// bindDebug shows the tree in the emulation of debugfs, where that is an overlay.
//
// Kernel: tracer_init_tracefs and trace_automount, kernel/trace/trace.c.
func (c *Cell) bindDebug() error {
	if !slices.Contains(c.binds, Debug) {
		return nil
	}
	path := filepath.Join(Debug, "tracing")
	if err := c.helper.Bind(Tracing, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.binds = append(c.binds, path)
	return nil
}

// sbin is where programs are looked for that a client runs.
const sbin = "/usr/sbin"

// addPrograms puts scripts into the system's programs, over ones of the same name.
func addPrograms(programs map[string]string) error {
	if len(programs) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "ftracelab-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	if err := unix.Mount("ftracelab", dir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("programs of the cell: %w", err)
	}
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			return errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
		}
	}
	if err := unix.Mount("ftracelab", sbin, "overlay", 0, "lowerdir="+dir+":"+sbin); err != nil {
		return errors.Join(fmt.Errorf("programs of the cell over %s: %w", sbin, err), unix.Unmount(dir, unix.MNT_DETACH))
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}
