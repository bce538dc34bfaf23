package fusefs

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// fifo is the way of a trace_pipe_raw to its readers. The kernel opens a FIFO
// without asking FUSE, so the server holds the writing end from the first lookup
// on, sees by poll(2) whether anybody reads, and moves sub-buffers while somebody
// does. A page in the pipe has left the ring.
//
// The helper opens the pipe for the server, by a second name in the hidden folder:
// looking up the first one, while the kernel waits for that very lookup, would wait for
// ever.
type fifo struct {
	node *node

	mu     sync.Mutex
	w      int              // writing end; -1: closed
	handle tracefile.Handle // open while somebody reads: the tracer then cannot be changed
	rest   []byte           // taken from the ring, not yet in the pipe
	idle   time.Time        // since when nobody reads
	full   bool             // a goroutine waits for room
	dead   bool             // given up: there may be another one for the node

	still time.Time // until when nothing goes into the pipe, see takeBack

	emptied   uint64 // see look
	recording bool
}

const (
	pipeSize  = 1 << 20 // bytes; the most an ordinary pipe may have
	pumpEvery = 5       // ticks between two looks
	fifoIdle  = 5 * time.Second
)

// readyFIFO makes a FIFO that a thread looks up ready to be opened. What there is goes into
// the pipe now, the page that is not full as well: a reader that does not wait has to find
// it. A lookup that is known not to be for an open leaves the ring as it is. If it is not
// known what it is for, it does so while tracing is on, as more will come. Without a
// descriptor it fails, because a pipe that nobody writes looks like an empty file.
//
// Kernel: tracing_buffers_read, kernel/trace/trace.c.
func (m *Mount) readyFIFO(n *node, thread int) error {
	f := m.fifoOf(n)
	defer f.mu.Unlock()
	if f.w < 0 {
		if err := m.openFIFO(f); err != nil {
			m.giveUp(f)
			return err
		}
	}
	f.idle = time.Now()
	opens, known := false, false
	if m.cfg.Opens != nil {
		opens, known = m.cfg.Opens(thread)
	}
	if known && !opens || !known && n.ring.Recording() {
		return nil
	}
	return m.fill(f)
}

// Reads is to be told, where this can be known, that a thread is about to read a descriptor.
// If that is trace_pipe_raw, it finds what there is by then, the page that is not full as
// well. Of a read that nobody tells, it finds the full pages.
func (m *Mount) Reads(thread, fd int) {
	n, _ := m.nodeBehind(thread, fd)
	if n == nil || n.ring == nil || n.mapping != nil {
		return
	}
	f := m.fifoOf(n)
	defer f.mu.Unlock()
	if f.w >= 0 {
		_ = m.fill(f) // the next look tries again
	}
}

// fifoOf returns the FIFO of a node, locked.
func (m *Mount) fifoOf(n *node) *fifo {
	emptied, recording := n.ring.Emptied(), n.ring.Recording()
	for {
		m.mu.Lock()
		f := m.fifos[n]
		if f == nil {
			f = &fifo{node: n, w: -1, emptied: emptied, recording: recording}
			m.fifos[n] = f
		}
		m.mu.Unlock()
		f.mu.Lock()
		if !f.dead {
			return f
		}
		f.mu.Unlock()
	}
}

// openFIFO opens the writing end, which needs a reader for a moment.
func (m *Mount) openFIFO(f *fifo) error {
	ends, err := m.ends(f.node, unix.O_RDONLY|unix.O_NONBLOCK, unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	unix.Close(ends[0])
	f.w = ends[1]
	// A smaller pipe works too, only slower.
	_, _ = unix.FcntlInt(uintptr(f.w), unix.F_SETPIPE_SZ, pipeSize)
	return nil
}

// giveUp closes a FIFO, which is locked, and forgets it.
func (m *Mount) giveUp(f *fifo) {
	m.release(f)
	if f.w >= 0 {
		unix.Close(f.w)
	}
	f.w, f.rest, f.dead = -1, nil, true
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fifos, f.node)
	if f.node.lookups == 0 {
		m.drop(f.node)
	}
}

// giveUpGone gives up the FIFOs of what was removed.
func (m *Mount) giveUpGone() {
	m.eachFIFO(func(f *fifo) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, there := m.entryOf(f.node); !there && !f.dead {
			m.giveUp(f)
		}
	})
}

// read says whether anybody has the reading end open.
func (f *fifo) read() bool {
	fds := []unix.PollFd{{Fd: int32(f.w), Events: unix.POLLOUT}}
	for {
		_, err := unix.Poll(fds, 0)
		if err == nil {
			return fds[0].Revents&unix.POLLERR == 0
		}
		if !errors.Is(err, unix.EINTR) {
			return false
		}
	}
}

// pump runs after every tick of the clock.
func (m *Mount) pump() {
	m.mu.Lock()
	m.ticks++
	due := m.ticks%pumpEvery == 0
	m.mu.Unlock()
	m.wakePollers()
	m.tellChanges()
	m.ShowMapped()
	if due {
		m.eachFIFO(m.serve)
		m.sweepPassing()
	}
}

func (m *Mount) eachFIFO(do func(*fifo)) {
	m.mu.Lock()
	var all []*fifo
	for _, f := range m.fifos {
		all = append(all, f)
	}
	m.mu.Unlock()
	for _, f := range all {
		do(f)
	}
}

// serve moves what there is while somebody reads, and gives up a FIFO that nobody
// has read for a while.
func (m *Mount) serve(f *fifo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w < 0 {
		return
	}
	if time.Now().Before(f.still) {
		return
	}
	if f.read() {
		f.idle = time.Now()
		if f.node.ring.Ready() {
			_ = m.fill(f) // the next look tries again
		}
		return
	}
	m.release(f)
	waiting, err := unix.IoctlGetInt(f.w, unix.TIOCINQ)
	if _, there := m.entryOf(f.node); !there || err == nil && waiting == 0 && len(f.rest) == 0 && time.Since(f.idle) > fifoIdle {
		m.giveUp(f)
	}
}

// release closes the file behind a FIFO that nobody reads.
func (m *Mount) release(f *fifo) {
	if f.handle != nil {
		_ = f.handle.Close()
		f.handle = nil
	}
}

// sweep notices readers that are gone, before somebody does what an open
// trace_pipe_raw forbids.
func (m *Mount) sweep() {
	m.eachFIFO(func(f *fifo) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.w >= 0 && f.handle != nil && !f.read() {
			m.release(f)
		}
	})
}

// fill moves sub-buffers until the ring is empty or the pipe full. It fails where it has no
// descriptor for it.
func (m *Mount) fill(f *fifo) error {
	if f.handle == nil {
		known, there := m.entryOf(f.node)
		entry, ok := known.(*tracefile.File)
		if !ok || !there {
			return nil
		}
		h, err := entry.Open(context.Background(), tracefile.Read|tracefile.NonBlock)
		if err != nil {
			return nil
		}
		f.handle = h
		defer func() {
			if f.w < 0 || !f.read() {
				m.release(f)
			}
		}()
	}
	page := make([]byte, maxSubbuf)
	for {
		if len(f.rest) == 0 {
			n, err := f.handle.Read(context.Background(), page)
			if err != nil || n == 0 {
				return nil
			}
			f.rest = page[:n]
		}
		n, err := unix.Write(f.w, f.rest)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			f.rest = append([]byte(nil), f.rest...)
			m.refill(f)
			return nil
		case errors.Is(err, unix.EPIPE):
			// Nobody reads, but what is written stays for who opens next: a
			// pipe takes no more without a reader, so open one for the moment.
			r, err := m.ends(f.node, unix.O_RDONLY|unix.O_NONBLOCK)
			if err != nil {
				return err
			}
			defer closeAll(r)
		case err != nil:
			return nil
		default:
			f.rest = f.rest[n:]
		}
	}
}

// maxSubbuf is the largest sub-buffer, in bytes.
const maxSubbuf = 64 << 10

// refill goes on as soon as the pipe has room: a reader that does not wait must
// not find it empty while the ring is not.
func (m *Mount) refill(f *fifo) {
	if f.full {
		return
	}
	f.full = true
	go func() {
		const wait = 10 // ms
		for {
			f.mu.Lock()
			w := f.w
			f.mu.Unlock()
			if w < 0 {
				break
			}
			fds := []unix.PollFd{{Fd: int32(w), Events: unix.POLLOUT}}
			n, err := unix.Poll(fds, wait)
			if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.full = false
		if f.w >= 0 && f.read() && f.node.ring.Ready() {
			_ = m.fill(f) // the next look tries again
		}
	}()
}

// rewrote is told after each write, and after an open that truncated: what it did to
// the rings is seen at their FIFOs.
func (m *Mount) rewrote(n *node) {
	m.redefined(n)
	m.eachFIFO(func(f *fifo) {
		emptied, switched := f.look()
		if emptied {
			m.drain(f)
		}
		if switched {
			m.serve(f)
		}
	})
}

// look says what has happened to the ring since the last look: it was emptied, so that
// what is on its way in the pipe must go too, or recording was switched.
func (f *fifo) look() (emptied, switched bool) {
	n, on := f.node.ring.Emptied(), f.node.ring.Recording()
	f.mu.Lock()
	defer f.mu.Unlock()
	emptied, switched = n != f.emptied, on != f.recording
	f.emptied, f.recording = n, on
	return emptied, switched
}

// drain empties a pipe.
func (m *Mount) drain(f *fifo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = nil
	_ = m.emptied(f, func([]byte) {})
}

// emptied reads what is in a pipe, which is locked. It fails, and the pipe may be given up, if
// there is no descriptor for it.
func (m *Mount) emptied(f *fifo, see func([]byte)) error {
	if f.w < 0 {
		return nil
	}
	r, err := m.ends(f.node, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		if !f.read() {
			m.giveUp(f) // what is in it goes with it
		}
		return err
	}
	defer closeAll(r)
	buf := make([]byte, maxSubbuf)
	for {
		n, err := unix.Read(r[0], buf)
		if n <= 0 && !errors.Is(err, unix.EINTR) {
			return nil
		}
		see(buf[:max(n, 0)])
	}
}

// takeBack takes the sub-buffers out of a pipe that nobody has read, for the mapping of its
// only reader. Until the reader has the mapping, nothing goes into the pipe.
//
// Departure: if some bytes of the first sub-buffer were read, the rest of it is not in the
// mapping.
func (m *Mount) takeBack(n *node, subbuf int) (subbufs []byte) {
	f := m.fifoOf(n)
	defer f.mu.Unlock()
	_ = m.emptied(f, func(p []byte) { subbufs = append(subbufs, p...) })
	subbufs = append(subbufs, f.rest...)
	f.rest, f.still = nil, time.Now().Add(mapTime)
	return subbufs[len(subbufs)%subbuf:]
}

// mapTime is how long the kernel takes at most to put the mapped file in the place of a FIFO.
const mapTime = 200 * time.Millisecond

// closeFIFOs gives all FIFOs up.
func (m *Mount) closeFIFOs() {
	m.eachFIFO(func(f *fifo) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.dead {
			m.giveUp(f)
		}
	})
}
