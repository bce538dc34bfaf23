package cell

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// HostDir is a folder of the host to be read, with nodes of our own over its files:
// /proc/sys/kernel, of which clients need a few files to be ours and the others to
// be there. It must be made before its path is covered. The host's files cannot be
// written through it (EACCES).
func HostDir(path string, own ...tracefile.Node) (*tracefile.Dir, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return hostDir(filepath.Base(path), fmt.Sprintf("/proc/self/fd/%d", fd), own), nil
}

func hostDir(name, path string, own []tracefile.Node) *tracefile.Dir {
	// Find needs no descriptor, which there may not be: a file that is there is found, and
	// reading it says what is missing.
	find := func(name string) tracefile.Node {
		for _, n := range own {
			if n.NodeName() == name {
				return n
			}
		}
		at := filepath.Join(path, name)
		info, err := os.Lstat(at)
		switch {
		case err != nil || filepath.Base(at) != name:
			return nil
		case info.IsDir():
			return hostDir(name, at, nil)
		}
		return hostFile(fs.FileInfoToDirEntry(info), at)
	}
	return &tracefile.Dir{Name: name, Mode: 0o555, Find: find, Children: func() []tracefile.Node {
		taken := map[string]bool{}
		nodes := append([]tracefile.Node(nil), own...)
		for _, n := range own {
			taken[n.NodeName()] = true
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nodes // it went away: a module's folder
		}
		for _, e := range entries {
			if taken[e.Name()] {
				continue
			}
			at := filepath.Join(path, e.Name())
			if e.IsDir() {
				nodes = append(nodes, hostDir(e.Name(), at, nil))
				continue
			}
			nodes = append(nodes, hostFile(e, at))
		}
		return nodes
	}}
}

func hostFile(e fs.DirEntry, at string) tracefile.Node {
	mode := fs.FileMode(0o444)
	if info, err := e.Info(); err == nil {
		mode = info.Mode().Perm() &^ 0o222
	}
	return tracefile.Seq(e.Name(), mode, func() ([]byte, error) { return os.ReadFile(at) }).
		OnWrite(func([]byte) error {
			return tracefile.Errorf(syscall.EACCES, "%s is the host's", e.Name())
		})
}

// Kept is a file of one value that nothing looks at: it reads what was written.
func Kept(name, value string) tracefile.Node {
	return tracefile.Value(name, 0o644, func() string { return value + "\n" }, func(s string) error {
		if _, err := tracefile.ParseLong(s, 10); err != nil {
			return err
		}
		value = strings.TrimSpace(s)
		return nil
	})
}

// Remounter is mount(8)'s helper for mounts of a type: it takes
// "mount -o remount,gid=5", whose options FUSE would drop, to the mounted tree, and
// refuses to mount anything.
const Remounter = `#!/bin/sh
dir=$2
shift 2
while getopts sfnvN:o:t: flag; do
	case $flag in o) options=$OPTARG ;; esac
done
case ,$options, in
*,remount,*) printf %s "$options" > "$dir/.ftracelab/remount" ;;
*) echo "mount: the host's tracing cannot be mounted here" >&2; exit 32 ;;
esac
`
