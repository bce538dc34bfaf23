package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// mounts are the places at which scripts have mounted tracefs and debugfs once more.
type mounts struct {
	mu   sync.Mutex
	list []mounted // in the order in which they were mounted
}

type mounted struct {
	source, target, kind string
}

// fileSystems are what can be mounted, and where each is found in any case.
var fileSystems = map[string]string{"tracefs": tracing, "debugfs": path.Dir(debugTracing)}

// resolve gives the place of name in the tree without the mounts.
func (m *mounts) resolve(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, mount := range slices.Backward(m.list) {
		if below(name, mount.target) {
			return fileSystems[mount.kind] + strings.TrimPrefix(name, mount.target)
		}
	}
	return name
}

// at: is something mounted at name?
func (m *mounts) at(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.list, func(mount mounted) bool { return mount.target == name })
}

// all gives all mounts, with those that are there in any case.
func (m *mounts) all() []mounted {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]mounted{{"tracefs", tracing, "tracefs"}, {"tmpfs", "/tmp", "tmpfs"}}, m.list...)
}

// table is /proc/mounts.
func (m *mounts) table() string {
	var b strings.Builder
	for _, mount := range m.all() {
		fmt.Fprintf(&b, "%s %s %s %s 0 0\n", mount.source, mount.target, mount.kind, mountOptions(mount.kind))
	}
	return b.String()
}

func mountOptions(kind string) string {
	if kind == "tmpfs" {
		return "rw"
	}
	return "rw,nosuid,nodev,noexec,relatime"
}

// mount mounts tracefs or debugfs at another folder, or tells what is mounted.
func mount(c *call) int {
	kind := ""
	var words []string
	for args := c.Args; len(args) > 0; args = args[1:] {
		switch {
		case (args[0] == "-t" || args[0] == "-o") && len(args) > 1:
			if args[0] == "-t" {
				kind = args[1]
			}
			args = args[1:]
		case strings.HasPrefix(args[0], "-"):
			return c.Usage("%s is not in the lab", args[0])
		default:
			words = append(words, args[0])
		}
	}
	m := c.sh.ns.mounts
	if len(words) == 0 {
		for _, mount := range m.all() {
			if kind == "" || kind == mount.kind {
				c.Printf("%s on %s type %s (%s)\n", mount.source, mount.target, mount.kind, mountOptions(mount.kind))
			}
		}
		return 0
	}
	if len(words) != 2 {
		return c.Usage("want -t tracefs or -t debugfs, a source and a folder")
	}
	target := c.path(words[1])
	info, err := c.sh.ns.stat(target)
	failed := func(format string, args ...any) int {
		fmt.Fprintf(c.Stderr, "mount: %s: %s.\n", words[1], fmt.Sprintf(format, args...))
		return 32 // "mount failure" of mount(8)
	}
	switch {
	case fileSystems[kind] == "":
		return failed("unknown filesystem type '%s' (the lab has tracefs and debugfs)", kind)
	case err != nil:
		return failed("mount point does not exist")
	case !info.IsDir():
		return failed("mount point is not a directory")
	case target == fileSystems[kind], m.at(target):
		return failed("%s already mounted or mount point busy", words[0])
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, mounted{words[0], target, kind})
	return 0
}

// umount takes back what mount did.
func umount(c *call) int {
	status := 0
	for _, word := range c.Args {
		target := c.path(word)
		m := c.sh.ns.mounts
		m.mu.Lock()
		before := len(m.list)
		m.list = slices.DeleteFunc(m.list, func(mount mounted) bool { return mount.target == target })
		gone := len(m.list) < before
		m.mu.Unlock()
		switch {
		case gone:
			continue
		case target == tracing || target == "/tmp":
			fmt.Fprintf(c.Stderr, "umount: %s: target is busy.\n", word)
		default:
			fmt.Fprintf(c.Stderr, "umount: %s: not mounted.\n", word)
		}
		status = 32
	}
	return status
}
