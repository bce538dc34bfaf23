package ringbuf

// Event is a place in a sub-buffer, reserved and not yet committed. Data is to
// be filled completely: what it holds before is undefined. Both end with
// Commit or Discard.
type Event struct {
	Data []byte
	Time uint64 // time stamp taken for the event; see Reserve
}

// Reserve makes room for length bytes of payload on cpu's tail page and returns
// the event to fill. Each Reserve is ended by exactly one Commit or Discard in
// the same context; contexts nest like a stack, and what an inner one writes
// becomes readable only when the outermost has ended.
//
// The event takes EventSize(length) bytes, and 8 more when it needs a time
// extend: the last event was more than 2^27 ns ago, or (an absolute stamp then)
// it is not known when, because its writer was interrupted or discarded it. The
// bytes behind the payload, up to the next multiple of 4, are zero. A reader
// gets them too.
//
// An event that was interrupted by others between taking the time and taking
// its place is stored with the time of the event before it if nothing better is
// known; Time may then be a little later than what is read.
//
// Errors: ErrDisabled; ErrTooBig if no sub-buffer can hold it; ErrRecursion if
// this context already writes (one such recursion is let through: an interrupt
// may come before its context is known); ErrFull if overwriting is off and no
// page is free; ErrCommitOverrun.
//
// Departure: bytes of alignment are zero. The kernel leaves there what the page
// held before.
//
// Kernel: ring_buffer_lock_reserve, rb_reserve_next_event,
// kernel/trace/ring_buffer.c.
func (b *Buffer) Reserve(cpu int, ctx Context, length int) (Event, error) {
	c := b.cpus[cpu]
	if b.disabled || c.disabled != 0 {
		return Event{}, ErrDisabled
	}
	if uint(length) > uint(b.maxData) {
		return Event{}, ErrTooBig
	}
	if c.committing >= maxNest || !c.enter(ctx) {
		return Event{}, ErrRecursion
	}
	c.committing++
	c.commits++

	e, err := Event{}, ErrTooBig
	if !b.absolute || EventSize(length)+stampSize <= b.maxData {
		e, err = c.reserve(length)
	}
	if err != nil {
		c.endCommit()
		c.leave()
	}
	return e, err
}

// Commit ends an event: when no outer context is writing, it and all that
// interrupted it become readable.
//
// Kernel: ring_buffer_unlock_commit, kernel/trace/ring_buffer.c.
func (b *Buffer) Commit(cpu int, e Event) {
	c := b.cpus[cpu]
	if c.committing == 0 {
		panic("ringbuf: invariant: commit of an event that is not reserved")
	}
	c.entries++
	if c.committing == 1 && c.commitPage == c.tail && c.hook == nil {
		c.commitPage.commit.Store(uint64(c.tail.write)) // endCommit in the plain case
		c.committing = 0
	} else {
		c.endCommit()
	}
	c.leave()
}

// Discard ends an event that nobody shall read. If nothing was written behind
// it the room is given back, and since the time of the last event is then not
// known, the next one carries an absolute stamp. Otherwise it becomes padding
// that keeps its time delta, which readers do not add.
//
// Kernel: ring_buffer_discard_commit, rb_try_to_discard, rb_event_discard,
// kernel/trace/ring_buffer.c.
func (b *Buffer) Discard(cpu int, e Event) {
	c := b.cpus[cpu]
	if c.committing == 0 {
		panic("ringbuf: invariant: discard of an event that is not reserved")
	}
	c.discard(len(e.Data))
	c.endCommit()
	c.leave()
}

// reserve finds the room and the time of an event, on the next page if need be,
// and writes its headers.
//
// Kernel: __rb_reserve_next, rb_update_event, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) reserve(length int) (Event, error) {
again:
	p := c.tail
	w, before, after := p.write, c.beforeStamp, c.writeStamp
	ts := c.buf.clock(c.cpu)
	c.at(pointA)
	size := EventSize(length)
	stamp := c.stampFor(w, before, after, ts)
	if stamp != 0 {
		size += stampSize
	}
	c.beforeStamp = ts
	c.at(pointB)
	p.write += size
	end := p.write
	off := end - size
	c.at(pointC)
	if end > c.capacity {
		if err := c.moveTail(p, off, size); err != nil {
			return Event{}, err
		}
		goto again
	}
	delta := ts - after
	if off == w {
		// Nothing was written between A and C, so after is the last event's
		// time and the delta is ours to use. Something that came between C
		// and here found before != after and used an absolute stamp.
		c.writeStamp = ts
		c.at(pointD)
	} else {
		ts, delta, stamp = c.interrupted(p, end, stamp)
	}

	c.open[(c.committing-1)%maxNest] = openEvent{p, off}
	p.entries++
	c.entriesBytes += uint64(size)
	c.ledger.payload += uint64(length)
	if off == 0 {
		p.stamp, delta = ts, 0
	}
	at := p.data[off:end]
	if stamp != 0 {
		c.putStamp(at, stamp, ts, delta)
		at, delta = at[stampSize:], 0
	}
	n := len(at) - headerSize
	if n <= maxSmallData {
		putHeader(at, uint8(n/alignment), delta)
		at = at[headerSize:]
	} else {
		putHeader(at, 0, delta)
		putWord(at[headerSize:], uint32(n))
		c.ledger.lengthWord += lengthWord
		at = at[headerSize+lengthWord:]
	}
	if length != len(at) {
		clear(at[length:])
	}
	return Event{Data: at[:length], Time: ts}, nil
}

// stampFor chooses what an event needs in front: nothing (0), a time extend, or
// an absolute stamp.
func (c *cpuBuffer) stampFor(w int, before, after, ts uint64) uint8 {
	switch {
	case c.buf.absolute:
		return TypeTimeStamp
	case w == 0: // the page's stamp serves
		return 0
	case before != after: // we are between another writer's B and D
		return TypeTimeStamp
	case ts-after > deltaMask:
		return TypeTimeExtend
	}
	return 0
}

// interrupted finds the time of an event that others were written in front of
// after its time was taken. If nothing came after it as well, the stamp of the
// last of them is known; otherwise it gets that event's time.
//
// Departure: with absolute stamps switched on, such an event stores its time.
// The kernel stores a delta there.
func (c *cpuBuffer) interrupted(p *page, end int, stamp uint8) (ts, delta uint64, _ uint8) {
	before, ts := c.beforeStamp, c.buf.clock(c.cpu)
	c.beforeStamp = ts // whoever interrupts now uses an absolute stamp
	c.at(pointE)
	after := c.writeStamp
	c.at(pointF)
	if p.write == end && after == before && after < ts {
		delta = ts - after
	}
	if stamp != 0 && !c.buf.absolute {
		stamp = TypeTimeExtend
	}
	return ts, delta, stamp
}

// putStamp writes the time extend or absolute stamp in front of an event.
//
// Kernel: rb_add_timestamp, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) putStamp(at []byte, stamp uint8, ts, delta uint64) {
	switch {
	case stamp == TypeTimeStamp:
		delta = ts & stampMask
	case delta > 1<<stampBits:
		delta = 0 // the clock went backwards
	}
	putHeader(at, stamp, delta&deltaMask)
	putWord(at[headerSize:], uint32(delta>>deltaBits))
	c.ledger.extend += stampSize
}

// moveTail gives up the room of size bytes at off, past the end of the page, and
// moves the tail to the next page, overwriting it if it is the oldest. The
// caller tries again there.
//
// Kernel: rb_move_tail, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) moveTail(p *page, off, size int) error {
	next := p.next
	if next == c.commitPage {
		return c.overrunCommit(p, off, size)
	}
	// While the tail is on the reader page the whole ring is free, and the
	// head is just where the writer comes back into it.
	if next == c.head && p != c.reader {
		switch {
		case c.commitPage == c.reader:
			return c.overrunCommit(p, off, size)
		case !c.buf.overwrite:
			c.dropped++
			c.resetTail(p, off, size)
			return ErrFull
		}
		c.overwriteHead()
	}
	if p == c.tail {
		c.advanceTail(next)
	}
	if left := c.capacity - off; left > 0 && left < minEventSize {
		c.ledger.tail += uint64(left)
	}
	c.resetTail(p, off, size)
	c.endCommit() // what is on the page so far
	c.committing++
	return nil
}

func (c *cpuBuffer) overrunCommit(p *page, off, size int) error {
	c.commitOverrun++
	c.resetTail(p, off, size)
	return ErrCommitOverrun
}

// overwriteHead gives up the oldest page.
//
// Kernel: rb_handle_head_page, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) overwriteHead() {
	p := c.head
	c.overrun += uint64(p.entries)
	c.entriesBytes -= p.commit.Load()
	c.pagesLost++
	c.head = p.next
}

// advanceTail lets the writer enter a page.
//
// Kernel: rb_tail_page_update, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) advanceTail(next *page) {
	c.provide(next)
	next.write, next.entries = 0, 0
	next.commit.Store(0)
	c.tail = next
	c.pagesTouched++
	c.ledger.pagesLeft++
}

// resetTail takes back the room that a failing reservation took past the end of
// its page. The first one to fail pads the rest of the page: with a discarded
// event, or where not even that fits with an empty header that is not committed.
//
// Kernel: rb_reset_tail, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) resetTail(p *page, off, size int) {
	left := c.capacity - off
	if left <= 0 {
		if left == 0 {
			p.realEnd = 0
		}
		p.write -= size
		return
	}
	p.realEnd = off
	if left < minEventSize {
		putHeader(p.data[off:], TypePadding, 0)
		p.write -= size
		return
	}
	putHeader(p.data[off:], TypePadding, 1)
	putWord(p.data[off+headerSize:], uint32(left-headerSize))
	c.entriesBytes += uint64(left)
	c.ledger.tail += uint64(left)
	p.write -= size - left
}

// endCommit ends what committing++ began; the outermost writer publishes all
// that was written. An interrupt between moving the commit and lowering the
// count cannot publish its own event, so we look again.
//
// Kernel: rb_end_commit, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) endCommit() {
	for {
		commits := c.commits
		if c.committing == 1 {
			c.moveCommit()
		}
		c.at(pointCommit)
		c.committing--
		if c.commits == commits || c.committing != 0 {
			return
		}
		c.committing++
	}
}

// moveCommit moves the commit to the tail. The atomic store is what a reader
// waits for: all bytes below it are written.
//
// Kernel: rb_set_commit_to_write, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) moveCommit() {
	p := c.commitPage
	for ; p != c.tail; p = p.next {
		p.commit.Store(uint64(p.write))
		c.commitPage = p.next
	}
	if w := uint64(p.write); p.commit.Load() != w {
		p.commit.Store(w)
	}
}

// discard turns the innermost event, with length bytes of payload, into padding
// and gives its room back if it is the last event.
func (c *cpuBuffer) discard(length int) {
	e := c.open[c.committing-1]
	p, off := e.page, e.off
	head := word(p.data, off)
	first := stampSize // what the kernel takes for the length of the whole
	if head&31 >= TypeTimeExtend {
		off += stampSize
		head = word(p.data, off)
	}
	it, fault := decodeItem(p.data, off, c.capacity)
	if fault != "" || it.typeLen > TypeDataMax {
		panic("ringbuf: invariant: discard of an event whose header is gone")
	}
	putHeader(p.data[off:], TypePadding, max(it.delta, 1))
	putWord(p.data[off+headerSize:], uint32(it.size-headerSize))
	if off == e.off {
		first = it.size
	}
	p.entries--
	c.ledger.discard(it, length)

	if end := off + it.size; p == c.tail && p.write == end {
		c.beforeStamp = 0
		p.write = e.off
		c.entriesBytes -= uint64(first)
		c.ledger.giveBack(it.size, off-e.off)
	}
}
