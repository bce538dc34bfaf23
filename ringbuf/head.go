package ringbuf

import "runtime"

// commitAt holds the id of the commit page in its low bits, its serial above.
const (
	idBits = 24
	idMask = 1<<idBits - 1
)

// commitSeenAt is the commit page as readers see it. They load it before they
// read anything of that page or of the pages before it.
func (c *cpuBuffer) commitSeenAt() *page { return c.table[c.commitAt.Load()&idMask] }

// overwriteHead moves the head on from next, the oldest page, which the writer
// is about to enter from p. It returns false if a reader has just taken next,
// so that p leads elsewhere.
//
// The link to the head changes from head to update, so that no reader can take
// that page; the page after it becomes the head; then the link becomes normal.
// An interrupt in between finds update and does the rest itself, perhaps many
// times round. Only the writer that has set update removes it.
//
// Departure: the writer remembers whether the new head is set. In the kernel an
// interrupted writer sets it again, and then decides by the tail whether to
// take that back. That goes wrong if, between the setting of the new head and
// the end of update, interrupts come and a reader takes the new head: then two
// links are head.
//
// Kernel: rb_handle_head_page, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) overwriteHead(p, next *page) bool {
	outermost := p.next.CompareAndSwap(linkTo(next, linkHead), linkTo(next, linkUpdate))
	if outermost {
		add(&c.overrun, uint64(next.entries))
		add(&c.overrunBytes, uint64(next.committed()))
		add(&c.pagesLost, 1)
		c.headSet = false
	} else if p.next.Load() != linkTo(next, linkUpdate) {
		return false // an interrupt has done it, or a reader was faster
	}
	c.at(PointUpdate)
	if !c.headSet {
		head := c.after(next)
		next.next.Store(linkTo(head, linkHead))
		c.headSet = true
	}
	c.at(PointHead)
	if outermost && !p.next.CompareAndSwap(linkTo(next, linkUpdate), linkTo(next, linkNormal)) {
		panic("ringbuf: invariant: the link to the overwritten head is not update")
	}
	return true
}

// findHead is the oldest page of the ring. While the writer moves the head
// there is none, and a reader waits for the few instructions that this takes.
//
// Kernel: rb_set_head_page, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) findHead() *page {
	p := c.head
	for n := 1; ; n++ {
		if c.before(p).next.Load() == linkTo(p, linkHead) {
			c.head = p
			return p
		}
		p = c.after(p)
		if n%c.nrPages == 0 {
			c.atRead(ReadSpin)
			runtime.Gosched()
		}
	}
}

// takeHead exchanges the empty reader page for the head page: the one link that
// leads to the head is made to lead to the empty page, which leads to the new
// head. The exchange fails while the writer is moving the head; takeHead then
// looks for the head again.
//
// How many events were lost before the page follows from how many were written
// before it: what was not read was lost.
//
// Departure: the kernel reads the count of overwritten events before the exchange,
// and trusts that the exchange fails if the writer has overwritten more since. It
// does not fail if the writer has come round to the same head again.
//
// Kernel: rb_get_reader_page, rb_head_page_replace, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) takeHead() {
	empty := c.reader
	for {
		oldest := c.findHead()
		before, next := c.before(oldest), c.after(oldest)
		empty.prev.Store(before.id)
		empty.next.Store(linkTo(next, linkHead))
		c.atRead(ReadHead)
		if before.next.CompareAndSwap(linkTo(oldest, linkHead), linkTo(empty, linkNormal)) {
			c.atRead(ReadTaken)
			next.prev.Store(empty.id)
			c.head, c.reader, c.read, c.first = next, oldest, 0, before
			add(&c.pagesRead, 1)
			overrun := oldest.sub.Load().entriesBefore.Load() - c.readEvents
			c.lost, c.lastOverrun = c.lost+overrun-c.lastOverrun, overrun
			return
		}
		c.atRead(ReadFailed)
	}
}
