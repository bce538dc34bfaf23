package ringbuf

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

// MapMetaSize is the size of struct trace_buffer_meta, with which the meta page
// begins.
const MapMetaSize = 80

// Mapping is what a process gets when it maps per_cpu/cpuN/trace_pipe_raw: a
// meta page, and the sub-buffers by number.
//
//	offset  0  u32 meta_page_size, u32 meta_struct_len
//	        8  u32 subbuf_size, u32 nr_subbufs (the reader page counts)
//	       16  u64 reader.lost_events, u32 reader.id, u32 reader.read
//	       32  u64 flags, entries, overrun, read, 2 reserved
//
// A Mapping is for one goroutine.
//
// Departure: in the kernel the sub-buffers that a process sees change at any
// time; here what has been written to the reader's sub-buffer is shown by
// GetReader and by Refresh. Only the reader's sub-buffer is shown: the others are
// the writer's.
//
// Kernel: ring_buffer_map, Documentation/trace/ring-buffer-map.rst.
type Mapping struct {
	buf  *Buffer
	cpu  int
	ids  map[uint32]int // of the sub-buffers, by id of their page
	meta []byte
	page []byte
	open int
	// version counts the changes of meta and page.
	version uint64
	queue   [][]byte // from Unread, the oldest first
	lent    bool     // page is one of those that were in queue
}

// Map maps the ring of cpu. While it is mapped, Resize, SetSubbufSize and
// SwapCPU return EBUSY. Mapping a ring that is mapped already returns the same
// Mapping.
//
// Kernel: ring_buffer_map, rb_setup_ids_meta_page, kernel/trace/ring_buffer.c.
func (b *Buffer) Map(cpu int) (*Mapping, error) {
	if cpu < 0 || cpu >= len(b.cpus) {
		return nil, fmt.Errorf("ringbuf: map cpu %d: %w", cpu, syscall.EINVAL)
	}
	c := b.readers(cpu)
	defer c.lock.Unlock()
	m := c.mapping
	if m == nil {
		m = &Mapping{buf: b, cpu: cpu, ids: map[uint32]int{c.reader.id: 0}}
		m.meta, m.page = make([]byte, b.subbufSize), make([]byte, b.subbufSize)
		head := c.findHead()
		for p, id := head, 1; id <= c.nrPages; p, id = c.after(p), id+1 {
			m.ids[p.id] = id
		}
		c.mapping = m
		c.pinned++
		m.show(c, 0)
		m.update(c)
	}
	m.open++
	return m, nil
}

func (c *cpuBuffer) mapped() bool { return c.mapping != nil }

// Close ends what Map began.
//
// Kernel: ring_buffer_unmap, kernel/trace/ring_buffer.c.
func (m *Mapping) Close() {
	c := m.buf.readers(m.cpu)
	defer c.lock.Unlock()
	if m.open--; m.open == 0 {
		c.mapping = nil
		c.pinned--
	} else if m.open < 0 {
		panic("ringbuf: invariant: Close of a mapping that is closed")
	}
}

// Meta is the meta page as GetReader left it.
func (m *Mapping) Meta() []byte { return m.meta[:min(MapMetaSize, len(m.meta))] }

// ReaderID is the number of the reader's sub-buffer, as the meta page says it.
func (m *Mapping) ReaderID() int { return int(binary.LittleEndian.Uint32(m.meta[24:])) }

// Reader is the reader's sub-buffer with its header, as GetReader or Refresh left
// it; its number is in the meta page. New events may have been written to the
// sub-buffer since.
func (m *Mapping) Reader() []byte { return m.page }

// GetReader is the ioctl TRACE_MMAP_IOCTL_GET_READER. If there was anything
// unread on the reader page, it counts as read by the caller now; otherwise the
// oldest page with data becomes the reader page. Meta and Reader are then up to
// date. If events were lost before a page that the writer has left, the page's
// commit word says so, as with ReadPage.
//
// Kernel: ring_buffer_map_get_reader, kernel/trace/ring_buffer.c.
func (m *Mapping) GetReader() {
	c := m.buf.readers(m.cpu)
	defer c.lock.Unlock()
	if m.next(c) {
		return
	}
	var lost uint64
	for !c.empty() {
		if size := c.reader.committed(); c.read < size {
			for c.read < size {
				c.advance(c.readItem(c.reader))
			}
			break
		}
		if c.readerPage() == nil {
			break
		}
		lost, c.lost = c.lost, 0
	}
	if m.lent {
		m.endLending(c)
	}
	m.show(c, lost)
	m.update(c)
}

// Refresh brings Reader up to date: the writer may still write to the sub-buffer
// that GetReader has shown. What is new does not count as read. It returns a number
// that changes whenever Reader or Meta do: a Reset changes both at once, and so does
// GetReader of another process that has mapped the same ring.
func (m *Mapping) Refresh() (version uint64) {
	c := m.buf.readers(m.cpu)
	defer c.lock.Unlock()
	sub := c.reader.sub.Load()
	if sub == nil || m.lent || m.ids[c.reader.id] != m.ReaderID() {
		return m.version // somebody else has read on, or it is one from Unread
	}
	if shown := binary.LittleEndian.Uint64(m.page[8:]); shown < uint64(sub.committed()) {
		m.show(c, 0)
	}
	return m.version
}

// show copies the reader page.
func (m *Mapping) show(c *cpuBuffer, lost uint64) {
	clear(m.page)
	m.lent = false
	m.version++
	sub := c.reader.sub.Load()
	if sub == nil {
		return
	}
	open := c.reader == c.commitSeenAt()
	size := sub.committed()
	if !open && lost != 0 && c.reader.realEnd != 0 {
		size = c.reader.realEnd
	}
	data := m.page[PageHeaderSize:]
	copy(data, sub.data[:size])
	commit := uint64(size)
	if lost != 0 && !open {
		commit |= extended
		if len(data)-size >= missedCountSize {
			commit |= missedStored
			binary.LittleEndian.PutUint64(data[size:], lost)
		}
	}
	putPageHeader(m.page, sub.stamp.Load(), commit)
}

// update writes the meta page.
//
// Kernel: rb_update_meta_page, kernel/trace/ring_buffer.c.
func (m *Mapping) update(c *cpuBuffer) {
	m.version++
	entries, _ := c.written()
	at := make([]byte, 0, MapMetaSize)
	for _, n := range []int{m.buf.subbufSize, MapMetaSize, m.buf.subbufSize, c.nrPages + 1} {
		at = binary.LittleEndian.AppendUint32(at, uint32(n))
	}
	at = binary.LittleEndian.AppendUint64(at, c.lost)
	at = binary.LittleEndian.AppendUint32(at, uint32(m.ids[c.reader.id]))
	at = binary.LittleEndian.AppendUint32(at, uint32(c.read))
	for _, n := range []uint64{0, entries, c.overrun.Load(), c.readEvents, 0, 0} {
		at = binary.LittleEndian.AppendUint64(at, n)
	}
	copy(m.meta, at)
}
