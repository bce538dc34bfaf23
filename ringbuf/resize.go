package ringbuf

import (
	"fmt"
	"syscall"
)

// Pages is the number of sub-buffers in the ring of cpu, the reader page not
// counted (nr_pages).
func (b *Buffer) Pages(cpu int) int { return b.writer(cpu).nrPages }

// Size is the number of bytes of data that the ring of cpu holds.
//
// Kernel: ring_buffer_size, kernel/trace/ring_buffer.c.
func (b *Buffer) Size(cpu int) int {
	return b.Pages(cpu) * (b.subbufSize - PageHeaderSize)
}

// SizeKB is what per_cpu/cpuN/buffer_size_kb reads: whole sub-buffers without
// their headers, so that 256 written reads as 258 and 1 as 7.
func (b *Buffer) SizeKB(cpu int) int { return b.Size(cpu) >> 10 }

// PinSize forbids Resize and SetSubbufSize on cpu until UnpinSize is called as
// many times, as an open trace file does.
//
// Kernel: resize_disabled in ring_buffer_read_start, kernel/trace/ring_buffer.c.
func (b *Buffer) PinSize(cpu int) {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	c.pinned++
}

// UnpinSize ends one PinSize.
func (b *Buffer) UnpinSize(cpu int) {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	if c.pinned--; c.pinned < 0 {
		panic("ringbuf: invariant: UnpinSize without PinSize")
	}
}

// Resize gives the ring of cpu as many sub-buffers as size bytes of data need,
// at least two. Data stays, except that shrinking cuts off the sub-buffers that
// the writer would enter next, the oldest first; their events count as overrun.
//
// Errors wrap EINVAL (size below 0), ENOMEM or, if PinSize or an unfinished
// event forbids it, EBUSY. Nothing has changed then.
//
// Kernel: ring_buffer_resize, kernel/trace/ring_buffer.c.
func (b *Buffer) Resize(cpu, size int) error { return b.resize(cpu, cpu+1, size) }

// ResizeAll is Resize for all CPUs: either all are resized or none.
func (b *Buffer) ResizeAll(size int) error { return b.resize(0, len(b.cpus), size) }

func (b *Buffer) resize(first, end, size int) error {
	if size < 0 {
		return fmt.Errorf("ringbuf: resize to %d bytes: %w", size, syscall.EINVAL)
	}
	b.stop(first, end)
	defer b.start(first, end)
	n := pagesFor(size, b.subbufSize)
	if err := checkPages(n); err != nil {
		return err
	}
	return b.change(first, end, func(c *cpuBuffer) bool { return n != c.nrPages }, func(c *cpuBuffer) {
		c.resize(n)
		c.wakeAll()
	})
}

// change runs do for all CPUs from first up to end that need it, or for none if
// one of those cannot be resized. Meanwhile their writers are stopped, and
// their readers wait.
func (b *Buffer) change(first, end int, need func(*cpuBuffer) bool, do func(*cpuBuffer)) error {
	for cpu := first; cpu < end; cpu++ {
		c := b.readers(cpu)
		defer c.lock.Unlock()
		if need(c) && (c.pinned != 0 || c.committing != 0) {
			return fmt.Errorf("ringbuf: resize cpu %d: %w", cpu, syscall.EBUSY)
		}
	}
	for cpu := first; cpu < end; cpu++ {
		if c := b.writer(cpu); need(c) {
			do(c)
		}
	}
	return nil
}

func (c *cpuBuffer) resize(n int) {
	switch {
	case n > c.nrPages:
		c.insertPages(n - c.nrPages)
	case n < c.nrPages:
		c.removePages(c.nrPages - n)
	}
	c.nrPages = n
}

// insertPages puts n empty pages before the head, so that the writer reaches
// them before it overwrites anything.
//
// Kernel: rb_insert_pages, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) insertPages(n int) {
	head := c.findHead()
	before := c.before(head)
	first := c.newPages(n)
	last := c.before(first)
	c.join(before, first, linkNormal)
	c.join(last, head, linkHead)
}

// removePages takes the n pages that follow the writer's page out of the ring.
// If the writer is on the reader page, the page that it will enter next is
// kept.
//
// Kernel: rb_remove_pages, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) removePages(n int) {
	keep, head := c.tail, c.findHead()
	if keep == c.reader {
		keep = c.after(keep)
	}
	p := c.after(keep)
	for range n {
		gone := p
		p = c.after(p)
		if gone == head {
			head = p
		}
		if gone.entries != 0 {
			add(&c.overrun, uint64(gone.entries))
			add(&c.overrunBytes, uint64(gone.committed()))
			add(&c.pagesLost, 1)
		}
		c.table[gone.id] = nil
		c.freeIDs = append(c.freeIDs, gone.id)
	}
	c.join(keep, p, linkNormal)
	c.before(head).next.Store(linkTo(head, linkHead))
	c.head, c.first = head, p
	c.reader.prev.Store(c.reader.id) // the page that was there may be gone, see isReader
	c.generation++
	c.noSpare()
}

// SetSubbufSize changes the size of all sub-buffers (buffer_subbuf_size_kb). All
// events are lost. The number of sub-buffers is chosen anew, so that each CPU
// keeps at least the bytes of data it had. Counters are reset as well.
//
// Errors wrap EINVAL (not a power of two from 64 to 2^20) or EBUSY, as with Resize.
//
// Departure: sizes below a page of memory are allowed, for experiments. The
// kernel keeps the counters and leaves the reset to its caller.
//
// Kernel: ring_buffer_subbuf_order_set, kernel/trace/ring_buffer.c.
func (b *Buffer) SetSubbufSize(size int) error {
	if err := validSubbufSize(size); err != nil {
		return err
	}
	b.stop(0, len(b.cpus))
	defer b.start(0, len(b.cpus))
	if size == b.subbufSize {
		return nil
	}
	pages := make([]int, len(b.cpus))
	for cpu := range pages {
		pages[cpu] = pagesFor(b.Size(cpu), size)
		if err := checkPages(pages[cpu]); err != nil {
			return err
		}
	}
	all := func(*cpuBuffer) bool { return true }
	return b.change(0, len(b.cpus), all, func(c *cpuBuffer) {
		b.setSubbufSize(size)
		c.rebuild(pages[c.cpu])
		c.reset()
		c.wakeAll()
	})
}
