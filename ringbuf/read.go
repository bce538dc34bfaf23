package ringbuf

import "encoding/binary"

// Entry is an event as a reader gets it. Data is the payload as stored: up to a
// multiple of 4 it is followed by zeros. Data belongs to the buffer and is valid
// until the next call for this CPU that reads, writes, resets or resizes.
type Entry struct {
	CPU  int
	Time uint64
	Data []byte
	Lost uint64 // events lost on this CPU just before this one (LostUnknown: some)
}

// LostUnknown in Entry.Lost says that events were lost and that it is not known
// how many.
const LostUnknown = ^uint64(0)

// readerPage returns the page with the next unread data, or nil if there is
// nothing to read. When the reader page has been read to its end, it takes the
// oldest page out of the ring; the empty reader page goes into its place, so
// the writer never meets a page that is being read.
//
// Kernel: rb_get_reader_page, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) readerPage() *page {
	for {
		p := c.reader
		if size := p.committed(); c.read < size {
			if c.read == 0 {
				c.readStamp = p.sub.Load().stamp.Load()
			}
			return p
		}
		c.atRead(ReadEnd)
		if c.commitSeenAt() == p {
			return nil
		}
		c.atRead(ReadCommit)
		if c.read < p.committed() {
			continue // committed after the first look, before the writer went on
		}
		if c.nothingUnread() {
			return nil
		}
		c.emptyPage(p)
		c.takeHead()
	}
}

// readItem decodes the item at the reader's place.
func (c *cpuBuffer) readItem(p *page) item {
	it, fault := decodeItem(p.sub.Load().data, c.read, p.committed())
	if fault != "" {
		panic("ringbuf: invariant: committed data holds " + fault)
	}
	return it
}

// advance moves the reader past the item.
//
// Kernel: rb_advance_reader, rb_update_read_stamp, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) advance(it item) {
	switch {
	case it.typeLen <= TypeDataMax:
		c.readEvents++
		c.readStamp += it.delta
	case it.typeLen == TypeTimeExtend:
		c.readStamp += it.delta
	case it.typeLen == TypeTimeStamp:
		c.readStamp = fixAbsolute(it.delta, c.readStamp)
	}
	c.read += it.size
	c.readBytes += uint64(it.size)
}

// next finds the next data event and moves the reader up to it, over time
// extends and discarded events.
//
// Kernel: rb_buffer_peek, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) next() (*page, item) {
	for p := c.readerPage(); p != nil; p = c.readerPage() {
		it := c.readItem(p)
		if it.typeLen <= TypeDataMax {
			return p, it
		}
		c.advance(it)
	}
	return nil, item{}
}

func (c *cpuBuffer) entry(p *page, it item) Entry {
	end := c.read + it.size
	return Entry{
		CPU:  c.cpu,
		Time: c.readStamp + it.delta,
		Data: p.sub.Load().data[it.data:end:end],
		Lost: c.lost,
	}
}

// Peek returns what Consume would take. It moves the reader over time extends
// and discarded events, which shows in Stats.Bytes.
//
// Kernel: ring_buffer_peek, kernel/trace/ring_buffer.c.
func (b *Buffer) Peek(cpu int) (Entry, bool) {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	p, it := c.next()
	if p == nil {
		return Entry{}, false
	}
	return c.entry(p, it), true
}

// Consume takes the oldest event of cpu. It returns false if there is none.
//
// Departure: the number of lost events is kept until a reader has been told. In
// the kernel, consuming a discarded event at the start of a page clears the
// number, unless the event was peeked at before, and taking another page
// replaces it.
//
// Kernel: ring_buffer_consume, kernel/trace/ring_buffer.c.
func (b *Buffer) Consume(cpu int) (Entry, bool) {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	p, it := c.next()
	if p == nil {
		return Entry{}, false
	}
	e := c.entry(p, it)
	c.lost = 0
	c.advance(it)
	return e, true
}

// ReadPage copies the next sub-buffer of cpu into page (SubbufSize bytes) as
// reading per_cpu/cpuN/trace_pipe_raw would and consumes it. With full set it
// returns only a sub-buffer that the writer has left. It returns false if there
// is nothing to read.
//
// A sub-buffer that the writer has left and no one has begun to read is given
// as it is, but without the padding at its end. Otherwise the unread events are
// copied one by one to the start of page, with the time up to which they were
// read as its stamp. What follows the data is zero.
//
// Events lost before the page set bit 31 of its commit word; if there is room
// behind the data their number is stored there and bit 30 set.
//
// Kernel: ring_buffer_read_page, kernel/trace/ring_buffer.c.
func (b *Buffer) ReadPage(cpu int, page []byte, full bool) bool {
	return b.ReadPageN(cpu, page, len(page), full)
}

// ReadPageN is ReadPage for a reader that asks for n bytes: of a sub-buffer
// with more, it reads as many events as fit in n together with the page header.
// The rest of page is zero. It also returns false if not even one event fits.
func (b *Buffer) ReadPageN(cpu int, page []byte, n int, full bool) bool {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	if len(page) > b.subbufSize {
		page = page[:b.subbufSize]
	}
	limit := min(n, len(page)) - PageHeaderSize
	if limit <= 0 {
		return false
	}
	p := c.readerPage()
	if p == nil {
		return false
	}
	var stamp uint64
	var size int
	data := page[PageHeaderSize:]
	open := p == c.commitSeenAt() // this comes before looking at its size
	if c.read == 0 && limit >= p.committed() && !open {
		stamp, size = p.sub.Load().stamp.Load(), c.takePage(p, data)
	} else {
		if full && open {
			return false
		}
		stamp = c.readStamp
		if size = c.copyEvents(p, data[:limit]); size == 0 {
			return false
		}
	}
	commit := uint64(size)
	if c.lost != 0 {
		commit |= missedEvents
		if len(data)-size >= missedCountSize {
			commit |= missedStored
			binary.LittleEndian.PutUint64(data[size:], c.lost)
			size += missedCountSize
		}
		c.lost = 0
	}
	clear(data[size:])
	putPageHeader(page, stamp, commit)
	return true
}

// takePage empties the whole reader page, which the writer has left, and returns
// the bytes of its data without the padding at the end.
func (c *cpuBuffer) takePage(p *page, data []byte) int {
	sub := p.sub.Load()
	size := sub.committed()
	c.readEvents += uint64(p.entries)
	c.readBytes += uint64(size)
	if p.realEnd != 0 {
		size = p.realEnd
	}
	copy(data, sub.data[:size])
	p.write, p.entries, p.realEnd = 0, 0, 0
	sub.commit.Store(0)
	return size
}

// copyEvents consumes as many events of the reader page as fit in data and
// returns their bytes. A time extend is never separated from its event.
func (c *cpuBuffer) copyEvents(p *page, data []byte) int {
	from := p.sub.Load().data
	n, size := 0, p.committed()
	for c.read < size {
		it := c.readItem(p)
		need := it.size
		if it.typeLen >= TypeTimeExtend {
			event, _ := decodeItem(from, c.read+it.size, size)
			need += event.size
		}
		if need > len(data)-n {
			break
		}
		copy(data[n:], from[c.read:c.read+it.size])
		n += it.size
		c.advance(it)
	}
	return n
}
