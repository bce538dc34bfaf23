package fusefs

import (
	"encoding/binary"
	"errors"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// device is a mount's end of its connection to the kernel. It reads requests from /dev/fuse
// and writes the answers. go-fuse knows what most of them mean and calls the Mount; it does
// not know poll(2), so device serves those requests itself. It also writes the notices, by
// which the kernel is told what it has not asked for.
//
//	kernel ── /dev/fuse ──→ device ──┬─ POLL ──────→ Mount.polled
//	                                 └─ all others → go-fuse ──→ Mount.Open, Read …
//
// Each request is served by the goroutine that has read it. As soon as none is left that
// reads, another one is started.
//
// Kernel: fuse_dev_do_read and fuse_dev_do_write, fs/fuse/dev.c; include/uapi/linux/fuse.h.
type device struct {
	fd       int
	requests *fuse.ProtocolServer
	poll     func(pollIn) uint32 // nil: poll(2) is not known

	reading atomic.Int32 // goroutines that wait for a request
	loops   sync.WaitGroup
	ended   sync.Once
	life    sync.RWMutex // fd is closed under it
	closed  bool
	in, out sync.Pool // of *[]byte: room for the largest request, and the largest answer

	mu      sync.Mutex
	serving map[uint64]bool // requests by their number (unique)
}

// Operations, and sizes in bytes.
const (
	reqPoll      = 40 // FUSE_POLL
	reqInterrupt = 36 // FUSE_INTERRUPT

	inHeaderSize  = 40
	outHeaderSize = 16
	// maxHeaders is more than any request or answer has before its data, of which there are
	// maxWrite bytes at most.
	maxHeaders = 4 << 10
	// readers is how many goroutines go on waiting for requests.
	readers = 4
)

// Notices that answer no request: their numbers stand where an answer has its error.
const (
	noticePoll       = 1 // FUSE_NOTIFY_POLL
	noticeInvalInode = 2 // FUSE_NOTIFY_INVAL_INODE
)

// newDevice takes fd, an open /dev/fuse that was mounted, and answers the kernel's first
// request, which agrees on a version.
func newDevice(fd int, fs fuse.RawFileSystem, poll func(pollIn) uint32, options *fuse.MountOptions) (*device, error) {
	d := &device{fd: fd, requests: fuse.NewProtocolServer(fs, options), poll: poll, serving: map[uint64]bool{}}
	d.in.New = func() any { b := make([]byte, maxWrite+maxHeaders); return &b }
	d.out.New = func() any { b := make([]byte, maxWrite+maxHeaders); return &b }
	first, err := d.next()
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	d.serve(first)
	d.start()
	return d, nil
}

// start starts a goroutine that reads.
func (d *device) start() {
	d.reading.Add(1)
	d.loops.Add(1)
	go d.loop()
}

// Wait returns when the connection has ended and no request is served any more.
func (d *device) Wait() { d.loops.Wait() }

func (d *device) loop() {
	defer d.loops.Done()
	for {
		request, err := d.next()
		if err != nil {
			d.end(err)
			return
		}
		if d.reading.Add(-1) == 0 {
			d.start()
		}
		d.serve(request)
		if d.reading.Add(1) > readers {
			d.reading.Add(-1)
			return
		}
	}
}

// next reads a request. It fails when the connection has ended.
func (d *device) next() ([]byte, error) {
	buf := d.in.Get().(*[]byte)
	defer d.in.Put(buf)
	for {
		n, err := unix.Read(d.fd, *buf)
		switch {
		case err == nil && n >= inHeaderSize:
			return append([]byte(nil), (*buf)[:n]...), nil
		case err == nil:
			return nil, unix.EIO
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOENT):
			// ENOENT: who asked was interrupted before the request could be read.
		default:
			return nil, err
		}
	}
}

// serve answers a request.
func (d *device) serve(request []byte) {
	op, unique := binary.NativeEndian.Uint32(request[4:]), binary.NativeEndian.Uint64(request[8:])
	if op == reqPoll && d.poll != nil {
		d.answerPoll(request, unique)
		return
	}
	out := d.out.Get().(*[]byte)
	defer d.out.Put(out)
	d.note(unique, true)
	n, status := d.requests.HandleRequest([][]byte{request}, [][]byte{*out})
	d.note(unique, false)
	if !status.Ok() {
		d.fail(unique, unix.Errno(status))
	} else if n > 0 {
		d.write((*out)[:n])
	}
}

// note keeps the numbers of the requests that are served.
func (d *device) note(unique uint64, served bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if served {
		d.serving[unique] = true
	} else {
		delete(d.serving, unique)
	}
}

// end interrupts the requests that are still served, once the connection has ended: they
// have nobody to wait for. The last one out closes the device.
func (d *device) end(err error) {
	d.ended.Do(func() {
		if !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ECONNABORTED) {
			log.Printf("fusefs: reading a request: %v", err)
		}
		go func() {
			d.loops.Wait()
			d.life.Lock()
			defer d.life.Unlock()
			d.closed = true
			unix.Close(d.fd)
		}()
		go d.interruptAll()
	})
}

// interruptAll interrupts requests until none is left. One that was read a moment ago may
// not be known to go-fuse yet, so they are asked again.
func (d *device) interruptAll() {
	for {
		d.mu.Lock()
		var left []uint64
		for unique := range d.serving {
			left = append(left, unique)
		}
		d.mu.Unlock()
		if len(left) == 0 {
			return
		}
		for _, unique := range left {
			request := make([]byte, inHeaderSize+8)
			binary.NativeEndian.PutUint32(request, uint32(len(request)))
			binary.NativeEndian.PutUint32(request[4:], reqInterrupt)
			binary.NativeEndian.PutUint64(request[inHeaderSize:], unique)
			d.requests.HandleRequest([][]byte{request}, [][]byte{make([]byte, maxHeaders)})
		}
		time.Sleep(time.Millisecond)
	}
}

// message is an answer or a notice of that many bytes, with its header.
func message(size int, unique uint64, result int32) []byte {
	b := make([]byte, outHeaderSize+size)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint32(b[4:], uint32(result))
	binary.NativeEndian.PutUint64(b[8:], unique)
	return b
}

func (d *device) fail(unique uint64, errno unix.Errno) { d.write(message(0, unique, -int32(errno))) }

// write sends a message. The kernel knows nothing any more of a request that was
// interrupted, or of the RELEASE of a file whose mount has gone (ENOENT).
func (d *device) write(b []byte) error {
	d.life.RLock()
	defer d.life.RUnlock()
	for !d.closed {
		_, err := unix.Write(d.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV):
			log.Printf("fusefs: answering: %v", err)
		}
		return err
	}
	return unix.ENODEV
}

// invalidate has the kernel forget the owner and mode of a file, and its pages from off on;
// none if off is negative. A file of which it knows nothing is ENOENT.
//
// Kernel: fuse_notify_inval_inode, fs/fuse/dev.c.
func (d *device) invalidate(node uint64, off int64) error {
	b := message(24, 0, noticeInvalInode)
	binary.NativeEndian.PutUint64(b[outHeaderSize:], node)
	binary.NativeEndian.PutUint64(b[outHeaderSize+8:], uint64(off))
	return d.write(b)
}
