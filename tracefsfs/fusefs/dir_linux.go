package fusefs

import (
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ftracelab/tracefsfs/tracefile"
)

// Mkdir implements fuse.RawFileSystem: an instance.
func (m *Mount) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	parent, status := m.nodeOf(in.NodeId)
	if !status.Ok() {
		return status
	}
	if tooLong(parent, name) {
		return fuse.Status(syscall.ENAMETOOLONG)
	}
	m.before(&in.InHeader, OpMkdir, parent, 0)
	if !m.allowed(&in.InHeader, parent, 3) {
		return fuse.EACCES
	}
	p := path.Join(parent.path, name)
	if err := m.cfg.FS.Mkdir(p); err != nil {
		return toStatus(err)
	}
	entry, err := m.cfg.FS.Lookup(p)
	if err != nil {
		return toStatus(err) // somebody was quicker to remove it
	}
	m.vanished(p) // what an earlier folder of that name left
	m.mu.Lock()
	m.owners.made(p)
	m.mu.Unlock()
	m.fillEntry(m.remember(p, entry), out)
	return fuse.OK
}

// Rmdir implements fuse.RawFileSystem.
func (m *Mount) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	parent, status := m.nodeOf(h.NodeId)
	if !status.Ok() {
		return status
	}
	m.before(h, OpRmdir, parent, 0)
	if !m.allowed(h, parent, 3) {
		return fuse.EACCES
	}
	p := path.Join(parent.path, name)
	m.sweep()
	err := onceReleased(func() error { return m.cfg.FS.Rmdir(p) })
	if err != nil {
		return toStatus(err)
	}
	m.vanished(p)
	m.giveUpGone()
	m.mu.Lock()
	m.owners.forget(p)
	m.mu.Unlock()
	return fuse.OK
}

// Tracefs has no operations for the following; the errno of each is what its
// caller sees on Linux.

// Create implements fuse.RawFileSystem.
func (m *Mount) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return fuse.EACCES
}

// Mknod implements fuse.RawFileSystem. A plain file is created, as open(2) does it.
//
// Kernel: do_mknodat and vfs_create, fs/namei.c.
func (m *Mount) Mknod(_ <-chan struct{}, in *fuse.MknodIn, _ string, _ *fuse.EntryOut) fuse.Status {
	if in.Mode&syscall.S_IFMT == syscall.S_IFREG {
		return fuse.EACCES
	}
	return fuse.EPERM
}

// Symlink implements fuse.RawFileSystem.
func (m *Mount) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Link implements fuse.RawFileSystem.
func (m *Mount) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Rename implements fuse.RawFileSystem.
func (m *Mount) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status {
	return fuse.EPERM
}

// Unlink implements fuse.RawFileSystem.
func (m *Mount) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return fuse.EPERM }

// OpenDir implements fuse.RawFileSystem. The listing is that of this moment.
func (m *Mount) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, status := m.nodeOf(in.NodeId)
	if !status.Ok() {
		return status
	}
	if !m.allowed(&in.InHeader, n, 4) {
		return fuse.EACCES
	}
	m.before(&in.InHeader, OpReadDir, n, 0)
	out.Fh = m.addFile(&file{node: n, listing: m.list(n)})
	return fuse.OK
}

// list is the entries of a folder, by name, with those every folder has.
func (m *Mount) list(n *node) []fuse.DirEntry {
	entries := []fuse.DirEntry{{Name: ".", Mode: fuse.S_IFDIR}, {Name: "..", Mode: fuse.S_IFDIR}}
	entry, _ := m.entryOf(n)
	dir, ok := entry.(*tracefile.Dir)
	if !ok || dir.Children == nil {
		return entries
	}
	for _, child := range dir.Children() {
		name := child.NodeName()
		at := node{path: path.Join(n.path, name), entry: child}
		entries = append(entries, fuse.DirEntry{Name: name, Mode: fileType(&at)})
	}
	slices.SortFunc(entries[2:], func(a, b fuse.DirEntry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// ReadDir implements fuse.RawFileSystem.
func (m *Mount) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	f := m.fileOf(in.Fh)
	if f == nil {
		return fuse.EBADF
	}
	for i := in.Offset; i < uint64(len(f.listing)); i++ {
		if !out.AddDirEntry(f.listing[i]) {
			break
		}
	}
	return fuse.OK
}

// ReleaseDir implements fuse.RawFileSystem.
func (m *Mount) ReleaseDir(in *fuse.ReleaseIn) { m.dropFile(in.Fh) }

// FsyncDir implements fuse.RawFileSystem.
func (m *Mount) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }
