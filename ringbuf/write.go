package ringbuf

import "sync/atomic"

// Event is a place in a sub-buffer, reserved and not yet committed. The caller
// fills Data completely: what it holds before is undefined. Neither field may
// be used after Commit or Discard.
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
// extend: either the last event was more than 2^27 ns ago, or its time is not
// known because its writer was interrupted or discarded it (the event then
// carries an absolute stamp). The bytes after the payload, up to the next
// multiple of 4, are zero. A reader gets them too.
//
// An event that was interrupted by others between taking the time and taking
// its place is stored with the time of the event before it if nothing better is
// known; Time may then be a little later than the time that a reader gets.
//
// Errors: ErrDisabled; ErrTooBig if no sub-buffer can hold it; ErrRecursion if
// this context is already writing (one such recursion is allowed, because an
// interrupt may come before its context is known); ErrFull if overwriting is
// off and no page is free; ErrCommitOverrun.
//
// Departure: bytes of alignment are zero. The kernel leaves what the page held
// before.
//
// Kernel: ring_buffer_lock_reserve, rb_reserve_next_event,
// kernel/trace/ring_buffer.c.
func (b *Buffer) Reserve(cpu int, ctx Context, length int) (Event, error) {
	c := b.writer(cpu)
	if b.off.Load()|c.control.Load()&(recordOff|stopping) != 0 {
		var err error
		if c, err = b.attend(cpu); err != nil {
			return Event{}, err
		}
	}
	ts := b.clock(cpu)
	off, size := int(c.plain.word&commitMask), (length+headerSize+alignment-1)&^(alignment-1)
	delta := ts - c.writeStamp
	if off+size > c.plain.limit || c.plain.size != 0 || delta > deltaMask || uint(length)-plainMin > plainMax-plainMin {
		return c.reserveSlow(ctx, length, ts)
	}
	c.plain.size, c.plain.ctx = size, ctx
	c.writeStamp = ts
	c.ledger.payload += uint64(length)
	at := c.data[off : off+size : off+size]
	putWord(at, uint32(size>>2-1)|uint32(delta)<<5) // putHeader for positive sizes
	end := headerSize + length
	if end != size {
		clear(at[end:])
	}
	return Event{Data: at[headerSize:end], Time: ts}, nil
}

// reserveSlow is the rest of Reserve for an event that is not plain. Its time
// has already been taken.
func (c *cpuBuffer) reserveSlow(ctx Context, length int, ts uint64) (Event, error) {
	c.settle()
	if uint(length) > uint(c.buf.maxData) {
		return Event{}, ErrTooBig
	}
	if c.committing >= maxNest || !c.enter(ctx) {
		return Event{}, ErrRecursion
	}
	if c.committing++; c.committing > 1 {
		c.commits++
	}
	c.open[c.committing-1] = openEvent{page: nowhere}
	e, err := Event{}, ErrTooBig
	if b := c.buf; !b.absolute || EventSize(length)+stampSize <= b.maxData {
		e, err = c.reserve(length, ts)
	}
	if err != nil {
		c.end()
	}
	return e, err
}

// Commit ends an event: when no outer context is writing, it and all that
// interrupted it become readable.
//
// Kernel: ring_buffer_unlock_commit, kernel/trace/ring_buffer.c.
func (b *Buffer) Commit(cpu int, e Event) {
	c := b.writer(cpu)
	if c.plain.size == 0 {
		if c.committing == 0 {
			panic("ringbuf: invariant: commit of an event that is not reserved")
		}
		c.end()
		return
	}
	c.plain.word += 1<<32 + uint64(c.plain.size)
	c.plain.size = 0
	c.commitSub.commit.Store(c.plain.word)
	if c.waiting.Load()&wakeAtCommit != 0 {
		c.wakeAfterCommit()
	}
}

// end ends a reservation and wakes the readers that wait for what has become
// readable.
func (c *cpuBuffer) end() {
	c.endCommit()
	c.leave()
	c.arm()
	if c.waiting.Load()&wakeAtCommit != 0 {
		c.wakeAfterCommit()
	}
}

// Discard ends an event that nobody is meant to read. If nothing was written
// after it, its room is given back. The time of the last event is then not
// known, so the next event carries an absolute stamp. Otherwise it becomes
// padding that keeps its time delta, which readers do not add.
//
// Departure: it wakes readers, like Commit, because what interrupts have
// written meanwhile becomes readable now. In the kernel only a commit wakes
// readers, so they sleep until the next one. The same holds when an interrupted
// Reserve fails.
//
// Kernel: ring_buffer_discard_commit, rb_try_to_discard, rb_event_discard,
// kernel/trace/ring_buffer.c.
func (b *Buffer) Discard(cpu int, e Event) {
	c := b.writer(cpu)
	c.settle()
	if c.committing == 0 {
		panic("ringbuf: invariant: discard of an event that is not reserved")
	}
	c.discard(len(e.Data))
	c.end()
}

// reserve finds the room and the time of an event, on the next page if need be,
// and writes its headers.
//
// Kernel: __rb_reserve_next, rb_update_event, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) reserve(length int, ts uint64) (Event, error) {
again:
	p, data := c.tail, c.data
	w, before, after := p.write, c.beforeStamp, c.writeStamp
	c.at(PointA)
	size := EventSize(length)
	stamp := c.stampFor(w, before, after, ts)
	if stamp != 0 {
		size += stampSize
	}
	c.beforeStamp = ts
	c.at(PointB)
	p.write += size
	end := p.write
	off := end - size
	c.at(PointC)
	if end > len(data) {
		if err := c.moveTail(p, off, size); err != nil {
			return Event{}, err
		}
		ts = c.buf.clock(c.cpu)
		goto again
	}
	delta := ts - after
	if off == w {
		// Nothing was written between A and C, so after is the last event's
		// time and the delta is ours to use. An event that came between C and
		// here found before != after and used an absolute stamp.
		c.writeStamp = ts
		c.at(PointD)
	} else {
		ts, delta, stamp = c.interrupted(p, end, stamp)
	}

	c.open[(c.committing-1)%maxNest] = openEvent{p.id, uint32(off)}
	p.entries++
	c.ledger.payload += uint64(length)
	if off == 0 {
		p.sub.Load().stamp.Store(ts)
		delta = 0
	}
	at := data[off:end]
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

// stampFor chooses what stands before an event: nothing (0), a time extend, or
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

// interrupted finds the time of an event whose writer was interrupted: after
// its time was taken, other events were written before it. If none was written
// after it as well, the stamp of the last of those is known, and the delta is
// counted from it. Otherwise the event gets the time of the event before it.
//
// A clock that gives an event and its interrupt the same time misleads it, here
// as in the kernel: a stamp that is equal by chance is taken for the last
// event's, and the time that is read may be a little late.
//
// Departure: it also looks whether the tail is still on the page. If a later
// event found the page full, nothing on this page shows that; the kernel then
// takes the delta from an event on the next page, and the time that is read may
// be later than that event's. Also, a delta that needs a time extend, for which
// no room was reserved, becomes 0; the kernel stores its low 27 bits.
//
// Departure: with absolute stamps switched on, such an event stores its time if
// nothing came after it, and otherwise a time extend of 0. The kernel stores the
// delta, or 0, as if it were a time.
func (c *cpuBuffer) interrupted(p *page, end int, stamp uint8) (ts, delta uint64, _ uint8) {
	before, ts := c.beforeStamp, c.buf.clock(c.cpu)
	c.beforeStamp = ts // whoever interrupts now uses an absolute stamp
	c.at(PointE)
	after := c.writeStamp
	c.at(PointF)
	last := p.write == end && p == c.tail
	if last && after == before && after < ts && (stamp != 0 || ts-after <= deltaMask) {
		delta = ts - after
	}
	if stamp != 0 && !(c.buf.absolute && last) {
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

// endCommit ends what committing++ began; the outermost writer publishes all
// that was written. An interrupt between moving the commit and lowering the
// count cannot publish its own event, so we look again. (Such an interrupt
// began inside our reservation, so commits counts it.)
//
// Kernel: rb_end_commit, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) endCommit() {
	for {
		commits := c.commits
		c.at(PointCommits)
		if c.committing == 1 {
			c.moveCommit()
		}
		c.at(PointCommit)
		c.committing--
		c.at(PointLowered)
		if c.commits == commits || c.committing != 0 {
			return
		}
		c.committing++
	}
}

// moveCommit moves the commit to the tail. The atomic store of the commit word
// publishes all bytes below it; the store of commitAt publishes all words of
// the pages that the writer has left.
//
// Kernel: rb_set_commit_to_write, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) moveCommit() {
	for p := c.commitPage; ; {
		s := c.commitSub
		commit := uint64(p.entries)<<32 | uint64(p.write)
		if s.commit.Load() != commit {
			s.commit.Store(commit)
		}
		if p == c.tail {
			return
		}
		entries, bytes := s.entriesBefore.Load(), s.bytesBefore.Load()
		p = c.after(p)
		next := p.sub.Load()
		next.entriesBefore.Store(entries + commit>>32)
		next.bytesBefore.Store(bytes + commit&commitMask)
		c.commitPage, c.commitSub = p, next
		c.commitAt.Store(p.serial.Load()<<idBits | uint64(p.id))
		if c.waiting.Load()&waitFull != 0 {
			c.waiting.Or(waitTurn)
		}
	}
}

// discard turns the innermost event, with length bytes of payload, into padding
// and gives its room back if it is the last event.
func (c *cpuBuffer) discard(length int) {
	e := c.open[c.committing-1]
	p, off := c.table[e.page], int(e.off)
	data := p.sub.Load().data
	if word(data, off)&31 >= TypeTimeExtend {
		off += stampSize
	}
	it, fault := decodeItem(data, off, c.capacity)
	if fault != "" || it.typeLen > TypeDataMax {
		panic("ringbuf: invariant: discard of an event whose header is gone")
	}
	putHeader(data[off:], TypePadding, max(it.delta, 1))
	putWord(data[off+headerSize:], uint32(it.size-headerSize))
	p.entries--
	c.ledger.discard(it, length)

	if end := off + it.size; p == c.tail && p.write == end {
		c.beforeStamp = 0
		p.write = int(e.off)
		if p.realEnd == end { // the rest was too short for an event
			p.realEnd = 0
			c.ledger.tail -= uint64(c.capacity - end)
		}
		if off != int(e.off) {
			add(&c.keptBytes, uint64(it.size)) // the kernel gives back the time extend only
		}
		c.ledger.giveBack(it.size, off-int(e.off))
	}
}

// add adds to a word that only one goroutine stores.
func add(n *atomic.Uint64, by uint64) { n.Store(n.Load() + by) }
