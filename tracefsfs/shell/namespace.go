package shell

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// Where the tree is mounted.
const (
	tracing      = "/sys/kernel/tracing"
	debugTracing = "/sys/kernel/debug/tracing"
)

// HostFiles is what the shell may see of the host; tests put their own here.
type HostFiles interface {
	OpenFile(name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	Remove(name string) error // of a file or an empty folder
}

// namespace is every path the shell can name. Paths given to it are absolute
// and clean.
type namespace struct {
	virtual   *tracefsfs.FS // /sys, /proc and /dev
	memory    *memory       // /tmp and /var/tmp, unless the host's are written, and mount points
	host      HostFiles
	hostWrite bool
	mounts    *mounts
}

// absolute is name as seen from dir, clean.
func absolute(dir, name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = filepath.ToSlash(dir) + "/" + name
	}
	return path.Clean(name)
}

func below(name string, folders ...string) bool {
	for _, folder := range folders {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

func isVirtual(name string) bool { return name == "/" || below(name, "/sys", "/proc", "/dev") }

// inMemory: is name in memory, or would it be if it were made?
func (ns *namespace) inMemory(name string) bool {
	if below(name, "/tmp", "/var/tmp") {
		return !ns.hostWrite
	}
	return ns.memory.holds(name)
}

// open opens name as open(2) does with the flags of package os.
func (ns *namespace) open(ctx context.Context, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	name = ns.mounts.resolve(name)
	switch {
	case isVirtual(name):
		return ns.openVirtual(ctx, name, flag)
	case ns.inMemory(name):
		if flag&(os.O_WRONLY|os.O_RDWR) == 0 && !ns.memory.owns(name) {
			return ns.host.OpenFile(name, flag, perm)
		}
		return ns.memory.open(name, flag, perm)
	case flag&(os.O_WRONLY|os.O_RDWR) != 0 && !ns.hostWrite:
		return nil, syscall.EROFS
	}
	return ns.host.OpenFile(name, flag, perm)
}

func (ns *namespace) openVirtual(ctx context.Context, name string, flag int) (io.ReadWriteCloser, error) {
	flags := tracefile.Read
	switch {
	case flag&os.O_RDWR != 0:
		flags = tracefile.Read | tracefile.Write
	case flag&os.O_WRONLY != 0:
		flags = tracefile.Write
	}
	if flag&os.O_TRUNC != 0 {
		flags |= tracefile.Trunc
	}
	if flag&os.O_APPEND != 0 {
		flags |= tracefile.Append
	}
	if flag&os.O_CREATE != 0 {
		if _, err := ns.virtual.Lookup(name); tracefile.Errno(err) == syscall.ENOENT {
			return nil, ns.virtual.Create(name)
		}
	}
	h, err := ns.virtual.OpenHandle(ctx, name, flags)
	if err != nil {
		return nil, err
	}
	return newVirtualFile(ctx, h, name), nil
}

func (ns *namespace) stat(name string) (fs.FileInfo, error) {
	name = ns.mounts.resolve(name)
	switch {
	case isVirtual(name):
		return ns.virtual.Stat(ioPath(name))
	case ns.inMemory(name) && ns.memory.owns(name):
		return ns.memory.stat(name)
	}
	return ns.host.Stat(name)
}

func (ns *namespace) readDir(name string) ([]fs.DirEntry, error) {
	name = ns.mounts.resolve(name)
	switch {
	case isVirtual(name):
		return ns.virtual.ReadDir(ioPath(name))
	case ns.inMemory(name) && ns.memory.owns(name):
		return ns.memory.readDir(name)
	}
	return ns.host.ReadDir(name)
}

// access: root may do all but run a file without an x.
func (ns *namespace) access(name string, exec bool) error {
	info, err := ns.stat(name)
	if err == nil && exec && !info.IsDir() && info.Mode()&0o111 == 0 {
		return syscall.EACCES
	}
	return err
}

// mkdir makes a folder. One that is to be a mount point may be made below /, in
// memory.
func (ns *namespace) mkdir(name string) error {
	name = ns.mounts.resolve(name)
	switch {
	case isVirtual(name):
		return ns.virtual.Mkdir(name)
	case ns.inMemory(name):
		return ns.memory.mkdir(name)
	case ns.hostWrite:
		return ns.host.Mkdir(name, 0o777)
	case path.Dir(name) == "/":
		if _, err := ns.host.Stat(name); err == nil {
			return syscall.EEXIST
		}
		return ns.memory.mkdir(name)
	}
	return syscall.EROFS
}

func (ns *namespace) rmdir(name string) error {
	if ns.mounts.at(name) {
		return syscall.EBUSY
	}
	name = ns.mounts.resolve(name)
	switch {
	case isVirtual(name):
		return ns.virtual.Rmdir(name)
	case ns.inMemory(name):
		return ns.memory.rmdir(name)
	}
	return ns.removeFromHost(name, true)
}

func (ns *namespace) remove(name string) error {
	name = ns.mounts.resolve(name)
	switch {
	case isVirtual(name):
		return ns.virtual.Remove(name)
	case ns.inMemory(name):
		return ns.memory.remove(name)
	}
	return ns.removeFromHost(name, false)
}

func (ns *namespace) removeFromHost(name string, folder bool) error {
	if !ns.hostWrite {
		return syscall.EROFS
	}
	info, err := ns.host.Stat(name)
	switch {
	case err != nil:
		return err
	case folder && !info.IsDir():
		return syscall.ENOTDIR
	case !folder && info.IsDir():
		return syscall.EISDIR
	}
	return ns.host.Remove(name)
}

// ioPath is name as io/fs writes it.
func ioPath(name string) string {
	if name == "/" {
		return "."
	}
	return name[1:]
}

// osFiles are the host's own files.
type osFiles struct{}

func (osFiles) OpenFile(name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFiles) Mkdir(name string, perm fs.FileMode) error {
	return os.Mkdir(filepath.FromSlash(name), perm)
}

func (osFiles) Remove(name string) error { return os.Remove(filepath.FromSlash(name)) }

func (osFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(filepath.FromSlash(name)) }

func (osFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	return os.ReadDir(filepath.FromSlash(name))
}
