package fusefs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// Mmap is a call of mmap(2) that a thread of a client is about to make.
type Mmap struct {
	Thread      int // as this process sees it
	FD          int
	Prot        int
	Len, Offset uint64
}

// Map says what is to become of a shared mapping of a file. If file is not negative, the
// descriptor is to be replaced by it before the call is made, with these flags of open(2);
// whoever calls Map closes file. An error carries the errno with which the call is to fail.
// Otherwise the call can be made as it is.
//
// A FIFO cannot be mapped. A client that maps trace_pipe_raw gets another file in its place:
// one of FUSE, whose pages show the mapping. The kernel keeps them until GetReader takes them
// away. Reading it, and its ioctl, reach this process.
//
//	mmap  ── FIFO ──→ Map ──→ a file of its own for the mapping, with a size
//	page fault ── READ without an owner ──→ Mapping.ReadAt
//	read(2)    ── READ with an owner ─────→ Handle.Read
//	ioctl(2)   ── IOCTL ──→ Mapping.GetReader, then the kernel forgets the pages
//	an event   ── ShowMapped ──→ Mapping.Refresh, likewise
//
// What has gone into the FIFO, which is what there was when it was opened, is the first that
// GetReader and read(2) find.
//
// Departure: other descriptors of the same open file, which were copied before, stay the
// FIFO, and find nothing more of what was in it. The ring is mapped until the descriptor is
// closed as well.
//
// Kernel: tracing_buffers_mmap, kernel/trace/trace.c; __rb_map_vma, kernel/trace/ring_buffer.c.
func (m *Mount) Map(call Mmap) (file, flags int, err error) {
	n, ours := m.nodeBehind(call.Thread, call.FD)
	switch {
	case !ours:
		return -1, 0, nil // if there is no such descriptor, the call says so
	case n == nil, n.mapping == nil && (n.ring == nil || n.ring.Map == nil):
		return -1, 0, syscall.ENODEV
	case n.mapping != nil:
		return -1, 0, fits(call, n.mapping)
	}
	flags, err = flagsOf(call.Thread, call.FD)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
		return -1, 0, syscall.EACCES
	}
	mapping, err := n.ring.Map()
	if err != nil {
		return -1, 0, err
	}
	if err := fits(call, mapping); err != nil {
		mapping.Close()
		return -1, 0, err
	}
	entry, _ := m.entryOf(n)
	m.mu.Lock()
	of := &node{id: m.nextID, path: n.path, entry: entry, mapping: mapping}
	m.nextID++
	m.nodes[of.id] = of
	m.mu.Unlock()
	files, err := m.ends(of, flags&unix.O_NONBLOCK)
	if err != nil {
		mapping.Close()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.drop(of)
		return -1, 0, errors.Join(syscall.ENODEV, err)
	}
	subbuf, _ := mapping.Size()
	mapping.Unread(m.takeBack(n, subbuf))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mapped[of] = true
	return files[0], flags, nil
}

// Mapped says whether a client has a ring in its memory.
func (m *Mount) Mapped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mapped) > 0
}

// ShowMapped shows clients what has happened to the rings that they have mapped: the kernel
// forgets their pages, and asks for them again when they are next looked at. The mount calls
// it at each tick, and when a file was written or truncated. A caller that lets time pass in
// another way calls it to show at once what has happened.
func (m *Mount) ShowMapped() {
	m.mu.Lock()
	mapped := slices.Collect(maps.Keys(m.mapped))
	m.mu.Unlock()
	for _, n := range mapped {
		if n.mapping.Refresh() {
			_ = m.device.invalidate(n.id, 0) // the kernel may have forgotten it already
		}
	}
}

// nodeBehind is the node behind a descriptor of a thread; ours if it is one of this mount. Of a
// node that is gone, it is nil.
func (m *Mount) nodeBehind(thread, fd int) (n *node, ours bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/fd/%d", thread, fd), unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st)
	if err != nil || st.Dev_major != m.major || st.Dev_minor != m.minor {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes[st.Ino], true
}

// Unspliced says whether a thread's descriptor is of a file of the tree from which splice(2)
// moves nothing: any but a FIFO.
func (m *Mount) Unspliced(thread, fd int) bool {
	n, ours := m.nodeBehind(thread, fd)
	return ours && (n == nil || n.ring == nil || n.mapping != nil)
}

// Device is the number of the device that the tree's files are on.
func (m *Mount) Device() (major, minor uint32) { return m.major, m.minor }

// Has says whether a path from the root of the tree is there: if not, why.
func (m *Mount) Has(name string) error {
	_, err := m.cfg.FS.Lookup(name)
	return err
}

// flagsOf are the flags of a thread's descriptor, as open(2) has them.
func flagsOf(thread, fd int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", thread, fd))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 32)
			return int(flags), err
		}
	}
	return 0, syscall.EBADF
}

// fits refuses what cannot be mapped.
//
// Kernel: __rb_map_vma, kernel/trace/ring_buffer.c.
func fits(call Mmap, mapping tracefile.Mapping) error {
	subbuf, all := mapping.Size()
	switch {
	case call.Prot&(unix.PROT_WRITE|unix.PROT_EXEC) != 0:
		return syscall.EPERM
	case call.Offset%uint64(subbuf) != 0, call.Offset >= uint64(all), call.Len > uint64(all)-call.Offset:
		return syscall.EINVAL
	}
	return nil
}

// getReader is the ioctl TRACE_MMAP_IOCTL_GET_READER.
//
// Kernel: include/uapi/linux/trace_mmap.h.
const getReader = 'R'<<8 | 0x20

// Ioctl implements fuse.RawFileSystem. It reaches files that were mapped.
//
// Departure: the request 0, which wakes those that wait, is ENOTTY, as it is of the FIFO.
func (m *Mount) Ioctl(cancel <-chan struct{}, in *fuse.IoctlIn, _ []byte, _ *fuse.IoctlOut, _ []byte) fuse.Status {
	f := m.fileOf(in.Fh)
	if f == nil || f.node.mapping == nil || in.Cmd != getReader {
		return fuse.Status(syscall.ENOTTY)
	}
	m.before(&in.InHeader, OpIoctl, f.node, 0)
	err := f.node.mapping.GetReader(m.context(cancel, &in.InHeader), f.waitsInIoctl(int(in.Pid)))
	if err != nil {
		return toStatus(err)
	}
	return toStatus(m.device.invalidate(f.node.id, 0))
}

// waitsInIoctl says whether the descriptor by which a thread calls ioctl(2) is one that
// waits. A request for it does not say so, unlike one for read(2), and the flag may have been
// changed since the file was opened.
func (f *file) waitsInIoctl(thread int) bool {
	const ioctl = 16 // on x86-64
	if nr, args, ok := Waiting(thread); ok && nr == ioctl {
		if flags, err := flagsOf(thread, int(int32(args[0]))); err == nil {
			return flags&unix.O_NONBLOCK == 0
		}
	}
	return f.flags&tracefile.NonBlock == 0
}

// hasOwner is the flag of a READ that comes from read(2). One for the pages of a mapping
// has no owner.
//
// Kernel: FUSE_READ_LOCKOWNER, include/uapi/linux/fuse.h; fuse_send_read, fs/fuse/file.c.
const hasOwner = 1 << 1

// readMapped answers a page fault.
func (f *file) readMapped(in *fuse.ReadIn, buf []byte) fuse.ReadResult {
	f.node.mapping.ReadAt(buf, int64(in.Offset))
	return fuse.ReadResultData(buf)
}
