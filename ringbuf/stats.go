package ringbuf

// Stats are the counters of per_cpu/cpuN/stats, except its "now ts".
type Stats struct {
	Entries       uint64 // events that can still be read
	Overrun       uint64 // events overwritten or cut off by shrinking
	CommitOverrun uint64 // events refused because unfinished ones filled the ring
	Bytes         uint64 // see below
	OldestTS      uint64 // time stamp of the oldest page
	Dropped       uint64 // events refused because overwriting is off
	Read          uint64 // events consumed
}

// Stats reads the counters of cpu.
//
// Bytes counts all bytes reserved, event headers, time extends and padding at
// page ends included, less those of overwritten pages and less those read. It
// falls when an event is consumed or a whole page is taken, but not when a page
// without events is skipped. The discard of an event that had a time extend
// gives back only the 8 bytes of the time extend. OldestTS is the stamp of the
// ring's head; only while the writer is on the reader page is it the stamp of
// that page.
//
// Kernel: ring_buffer_entries_cpu and following, ring_buffer_oldest_event_ts,
// kernel/trace/ring_buffer.c.
func (b *Buffer) Stats(cpu int) Stats {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	oldest := c.reader
	if c.commitSeenAt() != c.reader {
		oldest = c.findHead()
	}
	s := c.counters()
	if sub := oldest.sub.Load(); sub != nil {
		s.OldestTS = sub.stamp.Load()
	}
	return s
}

// Counters are the Stats without OldestTS. They can be had at any point of a writer or a
// reader; see Pause.
func (b *Buffer) Counters(cpu int) Stats {
	c, done := b.look(cpu)
	defer done()
	return c.counters()
}

// counters are the Stats that can be had without the head, which does not exist while the
// writer moves it.
func (c *cpuBuffer) counters() Stats {
	s := Stats{CommitOverrun: c.commitOverrun.Load(), Dropped: c.dropped.Load(), Read: c.readEvents}
	for {
		s.Overrun = c.overrun.Load()
		lost := c.overrunBytes.Load()
		entries, bytes := c.written()
		s.Entries, s.Bytes = entries-s.Overrun-s.Read, bytes-lost-c.readBytes
		if s.Overrun == c.overrun.Load() {
			return s
		}
	}
}

// written returns how many data events the writer has ever published, and how
// many bytes in all.
func (c *cpuBuffer) written() (entries, bytes uint64) {
	for {
		at := c.commitAt.Load()
		s := c.table[at&idMask].sub.Load()
		if s == nil {
			continue // overwritten and emptied meanwhile
		}
		entries, bytes = s.entriesBefore.Load(), s.bytesBefore.Load()
		commit := s.commit.Load()
		if c.commitAt.Load() == at {
			return entries + commit>>32, bytes + commit&commitMask + c.keptBytes.Load()
		}
	}
}

// unread is the number of events in the ring and on the reader page.
//
// Kernel: rb_num_of_entries, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) unread() uint64 {
	for {
		overrun := c.overrun.Load()
		entries, _ := c.written()
		if overrun == c.overrun.Load() {
			return entries - overrun - c.readEvents
		}
	}
}

// nothingUnread reports whether unread is 0, while the writer is in the ring.
// Events on the oldest page are unread. Looking there costs nobody anything,
// because the reader will take that page anyway; unread looks at words of the
// page that the writer is on.
func (c *cpuBuffer) nothingUnread() bool {
	if s := c.findHead().sub.Load(); s != nil && s.commit.Load()>>32 != 0 {
		return false
	}
	return c.unread() == 0
}

// WatermarkHit reports whether a reader that waits until percent of the pages
// hold data (the file buffer_percent) can be woken. 0 means any data.
//
// Kernel: rb_watermark_hit and full_hit, kernel/trace/ring_buffer.c.
func (b *Buffer) WatermarkHit(cpu, percent int) bool {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	return c.watermarkHit(percent)
}

func (c *cpuBuffer) watermarkHit(percent int) bool {
	if c.empty() {
		return false
	}
	return percent <= 0 || c.reader != c.commitSeenAt() && c.fullHit(percent)
}

// fullHit is the part of WatermarkHit that the writer checks as well.
func (c *cpuBuffer) fullHit(percent int) bool {
	return (c.dirtyPages()+1)*100 >= uint64(percent)*uint64(c.nrPages)
}

// dirtyPages is how many pages the writer has left and no reader has taken.
//
// Kernel: ring_buffer_nr_dirty_pages, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) dirtyPages() uint64 {
	lost := c.pagesLost.Load() + c.pagesRead.Load()
	if touched := c.pagesTouched.Load(); touched > lost {
		return touched - lost
	}
	return 0 // the reader can take the page that the writer is still on
}
