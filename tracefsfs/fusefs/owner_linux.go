package fusefs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ftracelab/tracefsfs/tracefile"
)

// ownership is who owns a file and what its mode is.
type ownership struct {
	uid, gid uint32
	mode     uint32
	hasMode  bool
}

// owners says who owns what: all files belong to those the mount options name,
// those of an instance to whom instances/ belonged when it was made, and a file
// that was changed to whom it was given.
//
// Kernel: tracefs_apply_options, fs/tracefs/inode.c; eventfs_remount,
// fs/tracefs/event_inode.c.
type owners struct {
	all       ownership
	instances map[string]ownership // by the path of the instance
	changed   map[string]change    // by path
}

// change is what chown and chmod did to a file; nil: not that.
type change struct{ uid, gid, mode *uint32 }

func newOwners() owners {
	return owners{instances: map[string]ownership{}, changed: map[string]change{}}
}

func (o *owners) of(p string) ownership {
	own := o.all
	own.hasMode = p == "" && own.hasMode
	if rest, ok := strings.CutPrefix(p, "instances/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		if at, ok := o.instances["instances/"+name]; ok {
			own.uid, own.gid = at.uid, at.gid
		}
	}
	c := o.changed[p]
	if c.uid != nil {
		own.uid = *c.uid
	}
	if c.gid != nil {
		own.gid = *c.gid
	}
	if c.mode != nil {
		own.mode, own.hasMode = *c.mode, true
	}
	return own
}

// made notes a new instance, which belongs to whom its folder does.
func (o *owners) made(p string) { o.instances[p] = o.of("instances") }

// forget is told that a file or folder is gone, with all below it.
func (o *owners) forget(p string) {
	delete(o.instances, p)
	for at := range o.changed {
		if at == p || strings.HasPrefix(at, p+"/") {
			delete(o.changed, at)
		}
	}
}

// remount gives all files to whom the options say, as "mount -o remount,gid=5"
// does: those that were changed too. Options that are not tracefs's are left to
// others.
func (o *owners) remount(options string) error {
	next := o.all
	var uid, gid bool
	for option := range strings.SplitSeq(strings.TrimSpace(options), ",") {
		name, value, _ := strings.Cut(option, "=")
		base := 10
		if name == "mode" {
			base = 8
		}
		if name != "uid" && name != "gid" && name != "mode" {
			continue
		}
		n, err := strconv.ParseUint(value, base, 32)
		if err != nil {
			return tracefile.Errorf(syscall.EINVAL, "mount option %q", option)
		}
		switch name {
		case "uid":
			next.uid, uid = uint32(n), true
		case "gid":
			next.gid, gid = uint32(n), true
		case "mode":
			next.mode, next.hasMode = uint32(n)&0o7777, true
		}
	}
	o.all = next
	for p, own := range o.instances {
		if uid {
			own.uid = next.uid
		}
		if gid {
			own.gid = next.gid
		}
		o.instances[p] = own
	}
	for p, c := range o.changed {
		if uid {
			c.uid = nil
		}
		if gid {
			c.gid = nil
		}
		o.changed[p] = c
	}
	return nil
}

func (m *Mount) remount(options string) error {
	m.mu.Lock()
	err := m.owners.remount(options)
	known := slices.Collect(maps.Keys(m.nodes))
	m.mu.Unlock()
	if m.device != nil {
		for _, id := range known {
			_ = m.device.invalidate(id, -1) // ENOENT: the kernel has forgotten it
		}
	}
	return err
}

// SetAttr implements fuse.RawFileSystem: chown, chmod and truncate. The kernel has checked
// that the caller may, or mayChange does. A size and times are taken and mean nothing, as for any file of tracefs.
func (m *Mount) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, status := m.nodeOf(in.NodeId)
	if !status.Ok() {
		return status
	}
	const ownerBits = fuse.FATTR_UID | fuse.FATTR_GID | fuse.FATTR_MODE
	if in.Valid&ownerBits != 0 {
		if !m.mayChange(in, n) {
			return fuse.EPERM
		}
		m.change(n, in)
	}
	m.fillAttr(n, &out.Attr)
	out.AttrValid = attrTime
	return fuse.OK
}

func (m *Mount) change(n *node, in *fuse.SetAttrIn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.owners.changed[n.path]
	if uid, ok := in.GetUID(); ok {
		c.uid = &uid
	}
	if gid, ok := in.GetGID(); ok {
		c.gid = &gid
	}
	if mode, ok := in.GetMode(); ok {
		mode &= 0o7777
		c.mode = &mode
	}
	m.owners.changed[n.path] = c
}
