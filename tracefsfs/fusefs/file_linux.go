package fusefs

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// file is an open file or folder.
type file struct {
	node    *node
	entry   *tracefile.File // nil for a folder
	flags   tracefile.Flags
	listing []fuse.DirEntry // of a folder
	holds   bool            // others wait for its end, see tracefile.Traits

	written atomic.Bool // there may be end-of-write work to do
	mu      sync.Mutex  // a Handle is used by one at a time
	handle  tracefile.Handle
	pos     uint64 // how far it was read
	closed  bool
}

// Open implements fuse.RawFileSystem. O_DIRECT is EINVAL, as no file is of a disk.
//
// Kernel: do_dentry_open, fs/open.c.
func (m *Mount) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, status := m.nodeOf(in.NodeId)
	if !status.Ok() {
		return status
	}
	flags := openFlags(in.Flags)
	if !m.allowed(&in.InHeader, n, accessOf(flags)) {
		return fuse.EACCES
	}
	if in.Flags&syscall.O_DIRECT != 0 {
		return fuse.EINVAL
	}
	if n.mapping == nil { // which is the helper's
		m.before(&in.InHeader, OpOpen, n, 0)
	}
	if flags&tracefile.Write != 0 {
		m.sweep()
	}
	m.awaitReleases(cancel)
	known, _ := m.entryOf(n)
	entry, ok := known.(*tracefile.File)
	if !ok {
		return fuse.Status(syscall.EISDIR)
	}
	if !m.isStatic(n.path) && path.Dir(n.path) != hidden {
		current, err := m.cfg.FS.Lookup(n.path)
		if err != nil {
			return toStatus(err)
		}
		if entry, ok = current.(*tracefile.File); !ok {
			return fuse.Status(syscall.EISDIR)
		}
	}
	f := &file{node: n, entry: entry, flags: flags, holds: n.mapping != nil || entry.Holds != nil && entry.Holds()}
	err := onceReleased(func() (err error) {
		f.handle, err = entry.Open(m.context(cancel, &in.InHeader), flags)
		return err
	})
	if err != nil {
		return toStatus(err)
	}
	if flags&tracefile.Trunc != 0 {
		m.rewrote(n)
		m.ShowMapped()
	}
	out.Fh = m.addFile(f)
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	if flags&tracefile.Write == 0 && !f.holds {
		out.OpenFlags |= fuse.FOPEN_NOFLUSH // a request less
	}
	if entry.Consumes || entry.Stream {
		out.OpenFlags |= fuse.FOPEN_NONSEEKABLE
	}
	return fuse.OK
}

// onceReleased does what an open file can forbid. close(2) does not wait for the
// RELEASE it causes, so what a client has closed can be in the way for a moment
// longer, which in the kernel it is not. A signal does not end that moment: in the
// kernel there is nothing to interrupt.
func onceReleased(do func() error) error {
	const moment = 250 // ms
	for waited := 0; ; waited++ {
		err := do()
		if !errors.Is(err, syscall.EBUSY) || waited == moment {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// openFlags translates the flags of open(2).
func openFlags(in uint32) (flags tracefile.Flags) {
	switch in & syscall.O_ACCMODE {
	case syscall.O_RDONLY:
		flags = tracefile.Read
	case syscall.O_WRONLY:
		flags = tracefile.Write
	case syscall.O_RDWR:
		flags = tracefile.Read | tracefile.Write
	}
	for _, f := range []struct {
		in  uint32
		out tracefile.Flags
	}{{syscall.O_TRUNC, tracefile.Trunc}, {syscall.O_APPEND, tracefile.Append}, {syscall.O_NONBLOCK, tracefile.NonBlock}} {
		if in&f.in != 0 {
			flags |= f.out
		}
	}
	return flags
}

// accessOf is what an open asks for, as in allowed.
func accessOf(flags tracefile.Flags) (mask uint32) {
	if flags&tracefile.Read != 0 {
		mask |= 4
	}
	if flags&tracefile.Write != 0 {
		mask |= 2
	}
	return mask
}

// Read implements fuse.RawFileSystem.
func (m *Mount) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	f := m.fileOf(in.Fh)
	if f == nil || f.entry == nil {
		return nil, fuse.EBADF
	}
	if m.cfg.NotSelf && unix.Tgkill(os.Getpid(), int(in.Pid), 0) == nil {
		return nil, fuse.Status(syscall.EDEADLK)
	}
	if f.node.mapping != nil && in.ReadFlags&hasOwner == 0 {
		return f.readMapped(in, buf[:min(len(buf), int(in.Size))]), fuse.OK
	}
	m.before(&in.InHeader, OpRead, f.node, int(in.Size))
	var ctx context.Context = &fuse.Context{Cancel: cancel}
	if in.Flags&syscall.O_NONBLOCK != 0 && (m.cfg.Polls || !f.waitsInRead()) {
		ctx = withoutWaiting(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.read(ctx, buf[:min(len(buf), int(in.Size))], in.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, toStatus(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

// waitsInRead says whether a read with O_NONBLOCK waits all the same. A program that
// sets the flag after it has opened trace_pipe (perf ftrace, any Go program) has just
// been told by poll(2), if that does not reach this server, that there is something to
// read, and may take EAGAIN for the end.
func (f *file) waitsInRead() bool {
	return f.flags&tracefile.NonBlock == 0 && f.entry.Live != nil && f.entry.Live()
}

// read reads at an offset. A handle only reads on, so going back begins a new one:
// a program that seeks to the start of a file sees what it says now.
func (f *file) read(ctx context.Context, buf []byte, offset uint64) (int, error) {
	if f.closed {
		return 0, syscall.EBADF
	}
	if f.node.mapping != nil {
		if n, ok := f.node.mapping.Take(buf); ok {
			return n, nil
		}
	}
	if f.entry.Consumes || f.entry.OwnPosition {
		return f.handle.Read(ctx, buf)
	}
	if offset < f.pos {
		h, err := f.entry.Open(ctx, f.flags&^tracefile.Trunc)
		if err != nil {
			return 0, err
		}
		if err := f.handle.Close(); err != nil {
			return 0, errors.Join(err, h.Close())
		}
		f.handle, f.pos = h, 0
	}
	for f.pos < offset {
		n, err := f.handle.Read(ctx, buf[:min(uint64(len(buf)), offset-f.pos)])
		if f.pos += uint64(n); err != nil || n == 0 {
			return 0, err
		}
	}
	n, err := f.handle.Read(ctx, buf)
	f.pos += uint64(n)
	return n, err
}

// Write implements fuse.RawFileSystem. The offset means nothing to tracefs.
func (m *Mount) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	f := m.fileOf(in.Fh)
	if f == nil || f.entry == nil {
		return 0, fuse.EBADF
	}
	m.before(&in.InHeader, OpWrite, f.node, len(data))
	m.sweep()
	m.setClosing(f, false)
	m.awaitReleases(cancel)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, fuse.EBADF
	}
	f.written.Store(true)
	n, err := f.handle.Write(m.context(cancel, &in.InHeader), data)
	if err != nil {
		return 0, toStatus(err)
	}
	m.rewrote(f.node)
	m.ShowMapped()
	return uint32(n), fuse.OK
}

// Flush implements fuse.RawFileSystem: close(2) of one descriptor of the file, of
// which a shell has several. It must not wait for a blocked read.
func (m *Mount) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	f := m.fileOf(in.Fh)
	if f == nil || f.entry == nil {
		return fuse.EBADF
	}
	if !f.written.Swap(false) {
		if f.flags&tracefile.Trunc != 0 || f.holds {
			m.setClosing(f, true)
		}
		return fuse.OK
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fuse.OK
	}
	err := f.handle.Flush()
	if f.holds {
		m.setClosing(f, true)
	}
	m.rewrote(f.node)
	return toStatus(err)
}

// Release implements fuse.RawFileSystem: nobody has the file open any more.
func (m *Mount) Release(_ <-chan struct{}, in *fuse.ReleaseIn) { m.dropFile(in.Fh) }

// Fsync implements fuse.RawFileSystem: no file of tracefs has the operation.
//
// Kernel: vfs_fsync_range, fs/sync.c.
func (m *Mount) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.EINVAL }

func (m *Mount) addFile(f *file) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextFH++
	m.files[m.nextFH] = f
	return m.nextFH
}

func (m *Mount) fileOf(fh uint64) *file {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[fh]
}

func (m *Mount) dropFile(fh uint64) {
	m.mu.Lock()
	f := m.files[fh]
	delete(m.files, fh)
	if f != nil {
		delete(m.mapped, f.node)
	}
	m.mu.Unlock()
	if f != nil {
		f.close()
		m.setClosing(f, false)
	}
}

func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handle != nil && !f.closed {
		_ = f.handle.Close() // close(2) was answered with Flush's error
		if f.node.mapping != nil {
			f.node.mapping.Close()
		}
	}
	f.closed = true
}

// closeFiles closes what clients left open.
func (m *Mount) closeFiles() {
	m.mu.Lock()
	files := m.files
	m.files = map[uint64]*file{}
	m.mu.Unlock()
	for _, f := range files {
		f.close()
	}
}
