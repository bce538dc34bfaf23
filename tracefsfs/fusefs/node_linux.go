package fusefs

import (
	"context"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// node is what the kernel knows by a number: an inode. The kernel's cache of names
// and ours agree by lookups, which the kernel counts down with Forget.
type node struct {
	id      uint64
	path    string // from the root, which is ""
	entry   tracefile.Node
	lookups uint64
	gone    bool // removed: a cwd or an open file keeps it
	// ring is that of a file of sub-buffers, which clients see as a FIFO.
	ring *tracefile.Ring
	// mapping is what a client has mapped by this file, see Map.
	mapping tracefile.Mapping

	children map[string]tracefile.Node // of a folder that stays as it is
}

// traitsOf are those of a file; of a folder there are none.
func (m *Mount) traitsOf(n *node) tracefile.Traits {
	entry, _ := m.entryOf(n)
	if f, ok := entry.(*tracefile.File); ok {
		return f.Traits
	}
	return tracefile.Traits{}
}

// The hidden folder in the root serves the mount's own needs. It is in no listing.
const (
	hidden     = ".ftracelab"
	remountDoc = hidden + "/remount" // takes mount options: gid=…, uid=…, mode=…
	rawAlias   = hidden + "/raw-"    // + a number: a FIFO again, see aliasEnds
)

func (m *Mount) addRoot() {
	root := &node{id: fuse.FUSE_ROOT_ID, entry: m.cfg.FS.Root(), lookups: 1}
	m.nodes[root.id], m.paths[""] = root, root
	m.static = map[string]bool{}
	events, err := m.cfg.FS.Lookup("events")
	if err != nil {
		return
	}
	for name, system := range childrenOf(events) {
		m.static[name] = !passing(system)
		for event, node := range childrenOf(system) {
			m.static[name+"/"+event] = !passing(node)
		}
	}
}

func passing(n tracefile.Node) bool {
	dir, ok := n.(*tracefile.Dir)
	return ok && dir.Passing
}

// childrenOf indexes a folder.
func childrenOf(n tracefile.Node) map[string]tracefile.Node {
	index := map[string]tracefile.Node{}
	if dir, ok := n.(*tracefile.Dir); ok && dir.Children != nil {
		for _, child := range dir.Children() {
			index[child.NodeName()] = child
		}
	}
	return index
}

// staticTime is how long the kernel may remember an entry that does not go away.
// It saves most of the requests of a script that looks at every event.
const staticTime = 3600 // seconds

// attrTime is how long the kernel may remember owner and mode, by which it checks
// permissions. It hears of each change: it brings chown and chmod itself, comes for a
// name that may have gone each time, and is told of a remount.
const attrTime = 3600 // seconds

// isStatic says that an entry below events/ is of an event that was there at the
// start: those stay, and so do their files.
func (m *Mount) isStatic(p string) bool {
	if rest, ok := strings.CutPrefix(p, "instances/"); ok {
		_, p, _ = strings.Cut(rest, "/")
	}
	rest, ok := strings.CutPrefix(p, "events/")
	if !ok {
		return false
	}
	if system, event, deeper := strings.Cut(rest, "/"); deeper {
		event, _, _ = strings.Cut(event, "/")
		rest = system + "/" + event
	}
	return m.static[rest]
}

// nodeOf returns a node the kernel named; ESTALE if it should not have.
func (m *Mount) nodeOf(id uint64) (*node, fuse.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[id]
	switch {
	case n == nil:
		return nil, fuse.Status(syscall.ESTALE)
	case n.gone:
		return n, fuse.ENOENT
	}
	return n, fuse.OK
}

// entryOf is what a node stands for now, and whether it is still there.
func (m *Mount) entryOf(n *node) (entry tracefile.Node, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return n.entry, !n.gone
}

// Lookup implements fuse.RawFileSystem.
func (m *Mount) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	parent, status := m.nodeOf(h.NodeId)
	if !status.Ok() {
		return status
	}
	if tooLong(parent, name) {
		return fuse.Status(syscall.ENAMETOOLONG)
	}
	p := path.Join(parent.path, name)
	if strings.HasPrefix(p, hidden) {
		return m.lookupHidden(h, p, out)
	}
	entry, err := m.resolve(parent, name, p)
	if err != nil {
		m.vanished(p)
		return toStatus(err)
	}
	n := m.remember(p, entry)
	if n.ring != nil {
		if !m.allowed(h, n, 4) {
			m.Forget(n.id, 1)
			return fuse.EACCES
		}
		if err := m.readyFIFO(n, int(h.Pid)); err != nil {
			m.Forget(n.id, 1)
			return toStatus(err)
		}
	}
	m.fillEntry(n, out)
	return fuse.OK
}

// tooLong says that no file can have that name. Where events are, there just is none.
//
// Kernel: simple_lookup, fs/libfs.c; eventfs_root_lookup, fs/tracefs/event_inode.c.
func tooLong(parent *node, name string) bool {
	return len(name) > unix.NAME_MAX && !ofEvents(parent.path)
}

// ofEvents says that a path is the folder of the events of an instance, or below it.
func ofEvents(p string) bool {
	words := strings.SplitN(p, "/", 4)
	if words[0] == "instances" && len(words) > 2 {
		words = words[2:]
	}
	return words[0] == "events"
}

// links is how many links a file has: a folder of events has one.
//
// Departure: another folder has two, however many folders are in it.
//
// Kernel: tracefs_create_dir, fs/tracefs/inode.c; eventfs_get_inode, fs/tracefs/event_inode.c.
func links(n *node) uint32 {
	if !n.entry.NodeMode().IsDir() || ofEvents(n.path) {
		return 1
	}
	return 2
}

// resolve finds name below parent: where entries stay, in the folder that was
// found before; elsewhere from the root, since any folder may have gone.
func (m *Mount) resolve(parent *node, name, p string) (tracefile.Node, error) {
	folder, _ := m.entryOf(parent)
	if !folder.NodeMode().IsDir() {
		return nil, syscall.ENOTDIR
	}
	if !m.isStatic(p) {
		return m.cfg.FS.Lookup(p)
	}
	m.mu.Lock()
	index := parent.children
	m.mu.Unlock()
	if index == nil {
		index = childrenOf(folder)
		if m.isStatic(parent.path) {
			m.mu.Lock()
			parent.children = index
			m.mu.Unlock()
		}
	}
	if child, ok := index[name]; ok {
		return child, nil
	}
	return nil, syscall.ENOENT
}

// remember returns the node of a path, one more time looked up.
func (m *Mount) remember(p string, entry tracefile.Node) *node {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.paths[p]
	if n != nil && n.entry.NodeMode().IsDir() != entry.NodeMode().IsDir() {
		m.detach(n)
		n = nil
	}
	if n == nil {
		n = &node{id: m.nextID, path: p}
		if f, ok := entry.(*tracefile.File); ok {
			n.ring = f.Ring
		}
		m.nextID++
		m.nodes[n.id], m.paths[p] = n, n
	}
	n.entry = entry
	n.lookups++
	return n
}

// vanished forgets what the kernel knew under a path and below.
func (m *Mount) vanished(p string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.paths[p]; n != nil {
		m.detach(n)
	}
}

// detach makes a node and all below it have no path any more; their numbers live
// on until the kernel forgets them, but nothing of what they stood for.
func (m *Mount) detach(n *node) {
	leave := func(o *node) {
		o.gone = true
		delete(m.paths, o.path)
		o.children = nil
		if dir, ok := o.entry.(*tracefile.Dir); ok {
			o.entry = &tracefile.Dir{Name: dir.Name, Mode: dir.Mode}
		} else {
			o.entry = &tracefile.File{Name: o.entry.NodeName(), Mode: o.entry.NodeMode(), Open: openGone}
		}
	}
	isDir := n.entry.NodeMode().IsDir()
	leave(n)
	m.owners.forget(n.path)
	if isDir {
		for p, o := range m.paths {
			if strings.HasPrefix(p, n.path+"/") {
				leave(o)
			}
		}
	}
}

func openGone(context.Context, tracefile.Flags) (tracefile.Handle, error) {
	return nil, syscall.ENOENT
}

// Forget implements fuse.RawFileSystem.
func (m *Mount) Forget(id, lookups uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[id]
	if n == nil || id == fuse.FUSE_ROOT_ID {
		return
	}
	n.lookups -= min(lookups, n.lookups)
	if n.lookups == 0 && m.fifos[n] == nil {
		m.drop(n)
	}
}

// drop removes a node that the kernel has forgotten.
func (m *Mount) drop(n *node) {
	delete(m.nodes, n.id)
	if m.paths[n.path] == n {
		delete(m.paths, n.path)
	}
}

func (m *Mount) fillEntry(n *node, out *fuse.EntryOut) {
	out.NodeId = n.id
	out.Generation = 1
	out.AttrValid = attrTime
	if m.isStatic(n.path) {
		out.EntryValid = staticTime
	}
	m.fillAttr(n, &out.Attr)
}

// fillAttr describes a file: no size and the time of the mount, as tracefs.
func (m *Mount) fillAttr(n *node, out *fuse.Attr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mode := uint32(n.entry.NodeMode().Perm())
	owner := m.owners.of(n.path)
	if owner.hasMode {
		mode = owner.mode
	}
	out.Ino, out.Nlink = n.id, links(n)
	out.Mode = mode | fileType(n)
	out.Uid, out.Gid = owner.uid, owner.gid
	out.Blksize = 4096
	if n.mapping != nil {
		_, all := n.mapping.Size()
		out.Size = uint64(all)
	}
	out.SetTimes(&m.born, &m.born, &m.born)
}

func fileType(n *node) uint32 {
	switch {
	case n.entry.NodeMode().IsDir():
		return syscall.S_IFDIR
	case n.ring != nil:
		return syscall.S_IFIFO
	}
	return syscall.S_IFREG
}

// lookupHidden finds what the mount itself and its helpers use; only root may.
func (m *Mount) lookupHidden(h *fuse.InHeader, p string, out *fuse.EntryOut) fuse.Status {
	if h.Uid != 0 {
		return fuse.ENOENT
	}
	switch {
	case p == hidden:
		m.fillEntry(m.remember(p, &tracefile.Dir{Name: hidden, Mode: 0o700}), out)
	case p == remountDoc:
		file := tracefile.Value("remount", 0o600, nil, m.remount)
		m.fillEntry(m.remember(p, file), out)
	case strings.HasPrefix(p, rawAlias):
		n := m.aliasNode(p)
		if n == nil {
			return fuse.ENOENT
		}
		m.fillEntry(n, out)
	default:
		at := slices.IndexFunc(m.cfg.Control, func(n tracefile.Node) bool { return hidden+"/"+n.NodeName() == p })
		if at < 0 {
			return fuse.ENOENT
		}
		m.fillEntry(m.remember(p, m.cfg.Control[at]), out)
	}
	return fuse.OK
}

// toStatus is the errno of an error as FUSE can send it.
func toStatus(err error) fuse.Status {
	const enotsupp, maxErrno = 524, 512
	errno := tracefile.Errno(err)
	if errno == enotsupp || errno >= maxErrno {
		errno = syscall.EOPNOTSUPP
	}
	return fuse.Status(errno)
}

// GetAttr implements fuse.RawFileSystem.
func (m *Mount) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, status := m.nodeOf(in.NodeId)
	if n == nil {
		return status
	}
	m.fillAttr(n, &out.Attr)
	out.AttrValid = attrTime
	if !status.Ok() {
		out.Nlink = 0 // removed
	}
	return fuse.OK
}

// StatFs implements fuse.RawFileSystem.
func (m *Mount) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.NameLen = 4096, 255
	return fuse.OK
}

// ListXAttr implements fuse.RawFileSystem: no file has extended attributes. Without it,
// listxattr(2) would be EOPNOTSUPP, about which programs that copy files complain.
//
// Kernel: vfs_listxattr, fs/xattr.c.
func (m *Mount) ListXAttr(<-chan struct{}, *fuse.InHeader, []byte) (uint32, fuse.Status) {
	return 0, fuse.OK
}

// String names the server in messages.
func (m *Mount) String() string { return "ftracelab" }
