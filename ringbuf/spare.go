package ringbuf

// Spare memory is a queue: readers add the memory of pages that they have
// emptied, one reader at a time, and the writer takes it for pages that it
// enters. The memory that was added first is used first. Writing to memory that
// was written and read just now takes twice as long (docs/performance.md),
// because those cache lines are still in the caches of both CPUs.
//
// The two meet in one word, the link from one piece of memory to the next. The writer
// does not take the last one, to which a reader may just be adding; so neither
// touches what the other stores.

// noSpare empties the queue. The one entry that remains has no memory and is
// never taken out.
func (c *cpuBuffer) noSpare() {
	c.spare = new(subbuf)
	c.lastSpare = c.spare
}

// provide returns memory, spare or new, for a page that the writer enters.
func (c *cpuBuffer) provide() *subbuf {
	for {
		s := c.spare
		next := s.next.Load()
		if next == nil {
			return &subbuf{data: make([]byte, c.capacity)}
		}
		c.spare = next
		s.next.Store(nil)
		if s.data != nil {
			return s
		}
	}
}

// release makes the memory of an emptied page spare, or leaves it to the
// iterators that look at it.
func (c *cpuBuffer) release(p *page) {
	s := p.sub.Swap(nil)
	if s == nil || s.held.Load() != 0 {
		return
	}
	s.commit.Store(0)
	c.lastSpare.next.Store(s)
	c.lastSpare = s
}
