package ringbuf

// Iter reads the ring of one CPU without consuming (the file trace). It starts
// at the oldest unread event. The writer may go on; if it overwrites what the
// iterator is at, the iterator goes to the start of that page and the next
// entry is marked LostUnknown. Consuming, Reset and shrinking send it back to
// the oldest event.
//
// Departure: an Iter does not forbid Resize by being there; who keeps one open
// over time and wants that calls PinSize.
//
// Kernel: struct ring_buffer_iter, kernel/trace/ring_buffer.c.
type Iter struct {
	c      *cpuBuffer
	page   *page
	head   int    // offset of the next item on page
	stamp  uint64 // of page when we came to it
	now    uint64 // time so far
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
	it := &Iter{c: b.cpus[cpu]}
	it.Reset()
	return it
}

// Reset goes back to the oldest unread event.
//
// Kernel: rb_iter_reset, kernel/trace/ring_buffer.c.
func (it *Iter) Reset() {
	c := it.c
	it.page, it.head, it.missed = c.reader, c.reader.read, false
	it.reader, it.readEvents, it.generation = c.reader, c.readEvents, c.generation
	it.stamp = c.reader.stamp
	it.now = it.stamp
	if it.head != 0 {
		it.now = c.readStamp
	}
}

// Peek shows the entry that Next would give. Its Data is valid until the
// iterator's next call.
//
// Kernel: ring_buffer_iter_peek, rb_iter_peek, kernel/trace/ring_buffer.c.
func (it *Iter) Peek() (Entry, bool) {
	if i, ok := it.find(); ok {
		return it.entry(i), true
	}
	return Entry{}, false
}

// Next gives the next entry and moves behind it. False: there is none yet.
//
// Kernel: ring_buffer_iter_advance, kernel/trace/ring_buffer.c.
func (it *Iter) Next() (Entry, bool) {
	i, ok := it.find()
	if !ok {
		return Entry{}, false
	}
	e := it.entry(i)
	it.missed = false
	it.advance(i)
	return e, true
}

func (it *Iter) entry(i item) Entry {
	it.event = append(it.event[:0], it.page.data[i.data:it.head+i.size]...)
	e := Entry{CPU: it.c.cpu, Time: it.now + i.delta, Data: it.event}
	if it.missed {
		e.Lost = LostUnknown
	}
	return e
}

// find goes to the next data event.
func (it *Iter) find() (item, bool) {
	c := it.c
	if it.readEvents != c.readEvents || it.reader != c.reader || it.generation != c.generation {
		it.Reset()
	}
	for !it.atEnd() && !c.empty() {
		size := it.page.committed()
		if it.head >= size {
			it.nextPage()
			continue
		}
		i, fault := decodeItem(it.page.data, it.head, size)
		if it.stamp != it.page.stamp || fault != "" && it.head != 0 {
			it.restartPage()
			continue
		}
		if fault != "" {
			panic("ringbuf: invariant: committed data holds " + fault)
		}
		if i.typeLen <= TypeDataMax {
			return i, true
		}
		it.advance(i)
	}
	return item{}, false
}

// atEnd reports whether the iterator has come to the commit.
//
// Kernel: ring_buffer_iter_empty, kernel/trace/ring_buffer.c.
func (it *Iter) atEnd() bool {
	c := it.c
	commit := c.commitPage.committed()
	if it.page == c.commitPage {
		return it.head >= commit
	}
	return it.page == c.reader && it.head == c.reader.committed() && c.commitPage == c.head && commit == 0
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

// nextPage goes on to the next page of the ring; from the reader page, which is
// outside, to the oldest.
//
// Kernel: rb_inc_iter, kernel/trace/ring_buffer.c.
func (it *Iter) nextPage() {
	if it.page == it.c.reader {
		it.page = it.c.head
	} else {
		it.page = it.page.next
	}
	it.stamp, it.now, it.head = it.page.stamp, it.page.stamp, 0
}

// restartPage goes to the start of a page that the writer has come to meanwhile.
func (it *Iter) restartPage() {
	it.stamp, it.now, it.head = it.page.stamp, it.page.stamp, 0
	it.missed = true
}
