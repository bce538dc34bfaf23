package ringbuf

// plain is the writer's short cut for an event that nothing interrupts, that
// needs no more than a header, and that follows another on its page. Nearly all
// events are like that, and the short cut takes half the time.
//
// While it is armed, and so while an event that came through it is open, the
// words that it does not store lag behind: write and entries of the tail page,
// before_stamp, the context and the count of open events. Code that needs them
// calls settle first, which brings them up to date and disarms the short cut:
// an interrupt's Reserve, Discard, everything that looks at the writer or
// changes the ring. From then on events go the long way, until the last open
// event has ended.
type plain struct {
	limit int     // where on the page events have to end; 0: not armed
	size  int     // of the open event; 0: none
	ctx   Context // its
	word  uint64  // the commit word of the tail page, without the open event
}

// Payloads that take a header of 4 bytes, no length word, and no padding up to 16.
const (
	plainMin = 9
	plainMax = maxSmallData
)

// arm enables the short cut for the next event if it is allowed: nobody is
// writing, and the last event is on this page and its time is known.
func (c *cpuBuffer) arm() {
	p := c.tail
	if c.hook == nil && !c.buf.absolute && c.context == 0 && c.nest == 0 && c.beforeStamp == c.writeStamp && p.write != 0 {
		c.plain = plain{limit: c.capacity, word: uint64(p.entries)<<32 | uint64(p.write)}
	}
}

// settle ends the short cut. An event that is open then looks as if it had come
// the long way.
func (c *cpuBuffer) settle() {
	s := c.plain
	if s.limit == 0 {
		return
	}
	c.plain = plain{}
	p := c.tail
	p.write, p.entries = int(s.word&commitMask), int(s.word>>32)
	c.beforeStamp = c.writeStamp
	if s.size != 0 {
		c.context = 1 << normalShift >> (s.ctx & 3)
		c.committing = 1
		c.open[0] = openEvent{p.id, uint32(p.write)}
		p.write += s.size
		p.entries++
	}
}
