package fusefs

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Who may do what with a file is as a rule the kernel's decision (attach). Where
// Config.AskAccess has it ask instead, this file decides, by the kernel's rules as far as a
// request tells: root may everything.
//
// Departure: with AskAccess, a caller needs search permission for all folders from the root
// of the mount on, also if it comes from its working folder; and looking up a FIFO that it
// must not read fails, because the kernel opens one without asking.
//
// Kernel: generic_permission, fs/namei.c.

// allowed says whether a caller may do what mask says (4 read, 2 write, 1 search).
func (m *Mount) allowed(h *fuse.InHeader, n *node, mask uint32) bool {
	if !m.cfg.AskAccess {
		return true // the kernel has decided
	}
	if h.Uid == 0 { // but nobody searches a file that nobody can execute
		return mask&1 == 0 || m.modeOf(n.path).IsDir() || m.modeOf(n.path)&0o111 != 0
	}
	who := caller{h: h}
	for p := n.path; p != ""; {
		if p = path.Dir(p); p == "." {
			p = ""
		}
		if !m.grants(p, &who, 1) {
			return false
		}
	}
	return m.grants(n.path, &who, mask)
}

// grants says whether owner and mode of a file alone allow what mask says.
func (m *Mount) grants(p string, who *caller, mask uint32) bool {
	m.mu.Lock()
	owner := m.owners.of(p)
	m.mu.Unlock()
	perm := uint32(m.modeOf(p).Perm())
	if owner.hasMode {
		perm = owner.mode & 0o777
	}
	switch {
	case who.h.Uid == owner.uid:
		perm >>= 6
	case who.in(owner.gid):
		perm >>= 3
	}
	return perm&mask == mask
}

// modeOf is the mode that the tree gives a file.
func (m *Mount) modeOf(p string) fs.FileMode {
	m.mu.Lock()
	n := m.paths[p]
	m.mu.Unlock()
	if n != nil {
		entry, _ := m.entryOf(n)
		return entry.NodeMode()
	}
	entry, err := m.cfg.FS.Lookup(p)
	if err != nil {
		return 0
	}
	return entry.NodeMode()
}

// caller is who asks.
type caller struct {
	h      *fuse.InHeader
	groups []uint32 // the supplementary ones
	asked  bool
}

// in says whether the caller is in a group. FUSE tells of one, /proc of the others.
func (c *caller) in(gid uint32) bool {
	if gid == c.h.Gid {
		return true
	}
	if !c.asked {
		c.asked = true
		c.groups = groupsOf(c.h.Pid)
	}
	return slices.Contains(c.groups, gid)
}

// groupsOf is the supplementary groups of a thread, none if it cannot be found.
func groupsOf(tid uint32) (groups []uint32) {
	text, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(tid), 10) + "/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		list, ok := strings.CutPrefix(line, "Groups:")
		if !ok {
			continue
		}
		for word := range strings.FieldsSeq(list) {
			if gid, err := strconv.ParseUint(word, 10, 32); err == nil {
				groups = append(groups, uint32(gid))
			}
		}
	}
	return groups
}

// Access implements fuse.RawFileSystem: access(2), and chdir(2). It comes with
// Config.AskAccess only.
func (m *Mount) Access(_ <-chan struct{}, in *fuse.AccessIn) fuse.Status {
	n, status := m.nodeOf(in.NodeId)
	if !status.Ok() {
		return status
	}
	if !m.cfg.AskAccess {
		return fuse.Status(syscall.ENOSYS)
	}
	if entry, _ := m.entryOf(n); in.Mask == 1 && entry.NodeMode().IsDir() {
		m.before(&in.InHeader, OpChdir, n, 0)
	}
	if !m.allowed(&in.InHeader, n, in.Mask&7) {
		return fuse.EACCES
	}
	return fuse.OK
}

// mayChange says whether a caller may change owner or mode of a file as valid says.
func (m *Mount) mayChange(in *fuse.SetAttrIn, n *node) bool {
	if !m.cfg.AskAccess || in.Caller.Uid == 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return in.Caller.Uid == m.owners.of(n.path).uid && in.Valid&(fuse.FATTR_UID|fuse.FATTR_GID) == 0
}
