package ringbuf

// Iter reads the ring of one CPU without consuming (the file trace). It starts
// at the oldest unread event; the writer keeps writing meanwhile. Consuming,
// Reset, shrinking and SwapCPU send the iterator back to the oldest event.
//
// An iterator holds the memory of the page it is on. A writer that comes round
// to that page finds it held and takes other memory for the page, so the
// iterator reads the page as it was to its end, and no byte is read while it is
// being written. Then it finds that the next page has been overwritten too, and
// goes on at the oldest page there is; the next entry is marked LostUnknown. So
// an iterator costs the writer nothing per event, only the memory of one page.
//
// An Iter is for one goroutine. An Iter that is no longer used need not be
// closed: the memory that it holds stays with the page until the writer
// overwrites that page.
//
// Departure: the kernel copies each event and then looks whether the writer has
// come by, which Go's memory model does not allow (it is a data race). The
// kernel then goes on at the start of the page that the writer is on, and so
// misses the older pages, which come after that page in the ring.
//
// Departure: an Iter alone does not forbid Resize; a caller that keeps one open
// and wants that calls PinSize.
//
// Kernel: struct ring_buffer_iter, kernel/trace/ring_buffer.c.
type Iter struct {
	buf *Buffer
	cpu int

	c      *cpuBuffer
	page   *page
	sub    *subbuf // of page, held; nil if the page has no memory yet
	serial uint64  // of page when we came to it
	expect uint64  // serial of the page to come next
	head   int     // offset of the next item on page
	now    uint64  // time so far
	missed bool
	event  []byte // copy of the payload of the last entry

	// What the ring was like when the iterator was last set to its start.
	reader     *page
	readEvents uint64
	generation uint64
}

// Iter starts to read cpu.
//
// Kernel: ring_buffer_read_start, kernel/trace/ring_buffer.c.
func (b *Buffer) Iter(cpu int) *Iter {
	it := &Iter{buf: b, cpu: cpu}
	it.Reset()
	return it
}

// Reset goes back to the oldest unread event.
//
// Kernel: rb_iter_reset, kernel/trace/ring_buffer.c.
func (it *Iter) Reset() {
	c := it.buf.readers(it.cpu)
	defer c.lock.Unlock()
	it.restart(c)
}

func (it *Iter) restart(c *cpuBuffer) {
	it.c, it.missed = c, false
	it.reader, it.readEvents, it.generation = c.reader, c.readEvents, c.generation
	it.hold(c.reader)
	it.expect = max(it.serial+1, c.findHead().serial.Load())
	it.head = c.read
	if it.head != 0 {
		it.now = c.readStamp
	}
}

// hold moves the iterator to the start of a page. It holds the page's memory
// before it looks at the serial number again; see enterPage for the writer's
// side.
func (it *Iter) hold(p *page) {
	if it.sub != nil {
		it.sub.held.Add(-1)
		it.sub = nil
	}
	it.page, it.head, it.now = p, 0, 0
	for {
		it.serial = p.serial.Load()
		s := p.sub.Load()
		if s == nil {
			return
		}
		it.c.atRead(ReadPage)
		s.held.Add(1)
		it.c.atRead(ReadHeld)
		if p.serial.Load() == it.serial && p.sub.Load() == s {
			it.sub = s
			return
		}
		s.held.Add(-1)
	}
}

// Peek returns the entry that Next would return. Its Data is valid until the
// iterator's next call.
//
// Kernel: ring_buffer_iter_peek, rb_iter_peek, kernel/trace/ring_buffer.c.
func (it *Iter) Peek() (Entry, bool) {
	c := it.buf.readers(it.cpu)
	defer c.lock.Unlock()
	if i, ok := it.find(c); ok {
		return it.entry(i), true
	}
	return Entry{}, false
}

// Next returns the next entry and moves past it, or false if there is none yet.
//
// Kernel: ring_buffer_iter_advance, kernel/trace/ring_buffer.c.
func (it *Iter) Next() (Entry, bool) {
	c := it.buf.readers(it.cpu)
	defer c.lock.Unlock()
	i, ok := it.find(c)
	if !ok {
		return Entry{}, false
	}
	e := it.entry(i)
	it.missed = false
	it.advance(i)
	return e, true
}

func (it *Iter) entry(i item) Entry {
	it.event = append(it.event[:0], it.sub.data[i.data:it.head+i.size]...)
	e := Entry{CPU: it.cpu, Time: it.now + i.delta, Data: it.event}
	if it.missed {
		e.Lost = LostUnknown
	}
	return e
}

// find goes to the next data event.
func (it *Iter) find(c *cpuBuffer) (item, bool) {
	if it.c != c || it.readEvents != c.readEvents || it.reader != c.reader || it.generation != c.generation {
		it.restart(c)
	}
	for {
		// If the page is not the commit page now, it is complete.
		at := c.commitAt.Load()
		if it.sub == nil || it.head >= it.sub.committed() {
			if at == it.serial<<idBits|uint64(it.page.id) {
				return item{}, false
			}
			if it.sub == nil || it.head >= it.sub.committed() {
				it.nextPage(c)
			}
			continue
		}
		if it.head == 0 {
			it.now = it.sub.stamp.Load()
		}
		i, fault := decodeItem(it.sub.data, it.head, it.sub.committed())
		if fault != "" {
			panic("ringbuf: invariant: committed data holds " + fault)
		}
		if i.typeLen <= TypeDataMax {
			return i, true
		}
		it.advance(i)
	}
}

func (it *Iter) advance(i item) {
	switch {
	case i.typeLen <= TypeDataMax, i.typeLen == TypeTimeExtend:
		it.now += i.delta
	case i.typeLen == TypeTimeStamp:
		it.now = fixAbsolute(i.delta, it.now)
	}
	it.head += i.size
}

// nextPage goes on to the page that the writer entered next. From the reader
// page, which is outside of the ring, that is the oldest. If that page has been
// overwritten, it goes on to the page that is the oldest now.
//
// Kernel: rb_inc_iter, kernel/trace/ring_buffer.c.
func (it *Iter) nextPage(c *cpuBuffer) {
	expect := it.expect
	next := c.after(it.page)
	if it.page == c.reader {
		next = c.findHead()
	}
	for it.hold(next); it.serial != expect; it.hold(next) {
		next = c.findHead()
		// The writer stores the number of a page before its memory, so we may hold the
		// old memory with the new number. When the page is the head both are new.
		if next == it.page && next.serial.Load() == it.serial && next.sub.Load() == it.sub {
			it.missed = true
			break
		}
	}
	it.expect = it.serial + 1
}
