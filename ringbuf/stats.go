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
// falls when an event is consumed or a whole page is taken, not when a page
// without events is skipped; and the discard of an event that had a time
// extend gives back the 8 bytes of that only. OldestTS is the stamp of the
// ring's head, and only while the writer is on it that of the reader page.
//
// Kernel: ring_buffer_entries_cpu and following, ring_buffer_oldest_event_ts,
// kernel/trace/ring_buffer.c.
func (b *Buffer) Stats(cpu int) Stats {
	c := b.cpus[cpu]
	oldest := c.head
	if c.tail == c.reader {
		oldest = c.reader
	}
	return Stats{
		Entries:       c.unread(),
		Overrun:       c.overrun,
		CommitOverrun: c.commitOverrun,
		Bytes:         c.entriesBytes - c.readBytes,
		OldestTS:      oldest.stamp,
		Dropped:       c.dropped,
		Read:          c.readEvents,
	}
}

// unread is the number of events in the ring and on the reader page.
//
// Kernel: rb_num_of_entries, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) unread() uint64 { return c.entries - c.overrun - c.readEvents }

// WatermarkHit reports whether a reader that waits until percent of the pages
// hold data (the file buffer_percent) is to be woken. 0 means any data.
//
// Kernel: rb_watermark_hit and full_hit, kernel/trace/ring_buffer.c.
func (b *Buffer) WatermarkHit(cpu, percent int) bool {
	c := b.cpus[cpu]
	if c.empty() {
		return false
	}
	if percent == 0 {
		return true
	}
	if c.reader == c.commitPage {
		return false
	}
	return (c.dirtyPages()+1)*100 >= uint64(percent)*uint64(c.nrPages)
}

// dirtyPages is how many pages the writer has left and no reader has taken.
//
// Kernel: ring_buffer_nr_dirty_pages, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) dirtyPages() uint64 {
	dirty := c.pagesTouched - c.pagesLost
	if dirty < c.pagesRead {
		return 0 // the reader can take the page that the writer is still on
	}
	return dirty - c.pagesRead
}
