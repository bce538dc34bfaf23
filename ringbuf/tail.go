package ringbuf

// What happens at the end of a page: the tail moves to the next.

// moveTail gives up the room of size bytes at off, past the end of the page, and
// moves the tail to the next page, overwriting it if it is the oldest. The
// caller tries again there.
//
// Kernel: rb_move_tail, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) moveTail(p *page, off, size int) error {
	link := p.next.Load()
	next := c.table[link>>linkShift]
	c.at(PointLink)
	if next == c.commitPage {
		return c.overrunCommit(p, off, size)
	}
	// If the writer is on the reader page, that page's link has no flag: the
	// whole ring is free then. Update means that we have interrupted another
	// writer that is moving the head.
	moved := false
	if link&linkFlags != linkNormal {
		switch {
		case c.isReader(c.commitPage):
			if c.commitPage != c.tail {
				return c.overrunCommit(p, off, size)
			}
			// Readers have taken our page. If the link is head, they have taken
			// the next page too since we loaded it: look again. If it is
			// update, it leads to the page that has already been given up: go
			// there.
			moved = link&linkFlags == linkHead
		case !c.buf.overwrite.Load():
			add(&c.dropped, 1)
			c.resetTail(p, off, size)
			return ErrFull
		default:
			moved = !c.overwriteHead(p, next)
		}
	}
	c.at(PointTail)
	if p == c.tail && !moved {
		c.enterPage(next)
		c.ledger.pagesLeft++
	}
	c.resetTail(p, off, size)
	c.endCommit() // what is on the page so far
	c.committing++
	return nil
}

func (c *cpuBuffer) overrunCommit(p *page, off, size int) error {
	add(&c.commitOverrun, 1)
	c.resetTail(p, off, size)
	return ErrCommitOverrun
}

// isReader reports whether a reader has taken the page out of the ring. The
// page that was before it then leads elsewhere.
//
// Kernel: rb_is_reader_page, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) isReader(p *page) bool { return c.after(c.before(p)) != p }

// Page is the number of the sub-buffer that cpu's writer is on. It grows when the writer
// goes on to the next one, and at a reset. Only the writer's goroutine may call it. After
// SwapCPU the numbers are those of the other ring.
func (b *Buffer) Page(cpu int) uint64 { return b.writer(cpu).tail.serial.Load() }

// enterPage lets the writer enter a page.
//
// The order matters to iterators, which do the reverse: the writer stores the
// serial number and then looks whether the memory is held; an iterator holds
// the memory and then looks at the number. So at least one of the two notices
// the other. Memory that is held is left to the iterator as it is, and the page
// gets other memory.
//
// Kernel: rb_tail_page_update, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) enterPage(p *page) {
	c.serial++
	p.serial.Store(c.serial)
	s := p.sub.Load()
	switch {
	case s == nil || s.held.Load() != 0:
		s = c.provide()
		p.sub.Store(s)
	default:
		s.commit.Store(0)
	}
	p.write, p.entries, p.realEnd = 0, 0, 0
	c.tail, c.data = p, s.data
	add(&c.pagesTouched, 1)
}

// resetTail takes back the room that a failing reservation took past the end of
// its page. The first one to fail pads the rest of the page with a discarded
// event or, where not even that fits, with an empty header that is not
// committed.
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
	before := p.realEnd
	p.realEnd = off
	data := p.sub.Load().data
	if left < minEventSize {
		if before != off {
			c.ledger.tail += uint64(left)
		}
		putHeader(data[off:], TypePadding, 0)
		p.write -= size
		return
	}
	putHeader(data[off:], TypePadding, 1)
	putWord(data[off+headerSize:], uint32(left-headerSize))
	c.ledger.tail += uint64(left)
	p.write -= size - left
}
