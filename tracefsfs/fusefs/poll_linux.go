package fusefs

import (
	"encoding/binary"
	"time"

	"ftracelab/tracefsfs/tracefile"
)

// pollIn is a request of poll(2), select(2) or epoll(7).
//
// Kernel: struct fuse_poll_in, include/uapi/linux/fuse.h; fuse_file_poll, fs/fuse/file.c.
type pollIn struct {
	file   uint64 // as Open named it
	handle uint64 // by which the kernel knows the file, for a notice
	waits  bool   // somebody waits, and wants to be told when it is worth asking again
}

// scheduleNotify is FUSE_POLL_SCHEDULE_NOTIFY.
const scheduleNotify = 1 << 0

func (d *device) answerPoll(request []byte, unique uint64) {
	if len(request) < inHeaderSize+24 {
		return // no kernel asks so
	}
	body := request[inHeaderSize:]
	events := d.poll(pollIn{
		file: binary.NativeEndian.Uint64(body), handle: binary.NativeEndian.Uint64(body[8:]),
		waits: binary.NativeEndian.Uint32(body[16:])&scheduleNotify != 0,
	})
	b := message(8, unique, 0)
	binary.NativeEndian.PutUint32(b[outHeaderSize:], events)
	d.write(b)
}

// wake tells the kernel that it is worth asking again.
//
// Kernel: fuse_notify_poll, fs/fuse/dev.c.
func (d *device) wake(handle uint64) error {
	b := message(8, 0, noticePoll)
	binary.NativeEndian.PutUint64(b[outHeaderSize:], handle)
	return d.write(b)
}

// polled answers poll(2). A file that somebody reads right now, and whose reader waits, has
// nothing; it is asked again after the next tick.
func (m *Mount) polled(in pollIn) uint32 {
	f := m.fileOf(in.file)
	if f == nil || f.entry == nil {
		return uint32(tracefile.PollAlways) // a folder
	}
	var events tracefile.Events
	if f.lockSoon() {
		events = tracefile.PollErr
		if !f.closed {
			events = f.handle.Poll()
			if f.node.mapping != nil && f.node.mapping.Pending() {
				events |= tracefile.Readable(true)
			}
		}
		f.mu.Unlock()
	}
	if in.waits { // perhaps for another event
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pollers[in.handle] = true
	}
	return uint32(events)
}

// lockSoon locks the file unless a reader waits in it.
func (f *file) lockSoon() bool {
	const moment = 5 // ms
	for range moment {
		if f.mu.TryLock() {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// wakePollers has the kernel ask again for each file that somebody waits for. What has
// happened since is for that request to find out: being asked changes what hist answers.
func (m *Mount) wakePollers() {
	m.mu.Lock()
	waiting := m.pollers
	m.pollers = map[uint64]bool{}
	m.mu.Unlock()
	for handle := range waiting {
		_ = m.device.wake(handle) // ENOENT: the file was closed
	}
}
