package ringbuf

import (
	"fmt"
	"syscall"
)

// Pages is the number of sub-buffers in the ring of cpu, the reader page not
// counted (nr_pages).
func (b *Buffer) Pages(cpu int) int { return b.cpus[cpu].nrPages }

// Size is the number of bytes of data that the ring of cpu holds.
//
// Kernel: ring_buffer_size, kernel/trace/ring_buffer.c.
func (b *Buffer) Size(cpu int) int {
	return b.cpus[cpu].nrPages * (b.subbufSize - PageHeaderSize)
}

// SizeKB is what per_cpu/cpuN/buffer_size_kb reads: whole sub-buffers without
// their headers, so that 256 written reads as 258 and 1 as 7.
func (b *Buffer) SizeKB(cpu int) int { return b.Size(cpu) >> 10 }

// PinSize forbids Resize and SetSubbufSize on cpu until UnpinSize is called as
// many times, as an open trace file does.
//
// Kernel: resize_disabled in ring_buffer_read_start, kernel/trace/ring_buffer.c.
func (b *Buffer) PinSize(cpu int) { b.cpus[cpu].pinned++ }

// UnpinSize ends one PinSize.
func (b *Buffer) UnpinSize(cpu int) {
	if b.cpus[cpu].pinned--; b.cpus[cpu].pinned < 0 {
		panic("ringbuf: invariant: UnpinSize without PinSize")
	}
}

// Resize gives the ring of cpu as many sub-buffers as size bytes of data need,
// at least two. Data that is there stays, except that shrinking cuts off the
// sub-buffers behind the writer, the oldest first; their events count as
// overrun.
//
// Errors wrap EINVAL (size below 0), ENOMEM or, if PinSize or an unfinished
// event forbids it, EBUSY. Nothing has changed then.
//
// Kernel: ring_buffer_resize, kernel/trace/ring_buffer.c.
func (b *Buffer) Resize(cpu, size int) error {
	n, err := b.resizeTo(size)
	if err != nil {
		return err
	}
	c := b.cpus[cpu]
	if n == c.nrPages {
		return nil
	}
	if err := c.resizable(); err != nil {
		return err
	}
	c.resize(n)
	return nil
}

// ResizeAll is Resize for all CPUs: either all are resized or none.
func (b *Buffer) ResizeAll(size int) error {
	n, err := b.resizeTo(size)
	if err != nil {
		return err
	}
	for _, c := range b.cpus {
		if err := c.resizable(); err != nil {
			return err
		}
	}
	for _, c := range b.cpus {
		c.resize(n)
	}
	return nil
}

func (b *Buffer) resizeTo(size int) (pages int, err error) {
	if size < 0 {
		return 0, fmt.Errorf("ringbuf: resize to %d bytes: %w", size, syscall.EINVAL)
	}
	n := pagesFor(size, b.subbufSize)
	return n, checkPages(n)
}

func (c *cpuBuffer) resizable() error {
	if c.pinned != 0 || c.committing != 0 {
		return fmt.Errorf("ringbuf: resize cpu %d: %w", c.cpu, syscall.EBUSY)
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

// insertPages puts n empty pages in front of the head, where the writer comes
// to them before it would overwrite anything.
//
// Kernel: rb_insert_pages, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) insertPages(n int) {
	first := ring(n)
	last := first.prev
	before := c.head.prev
	before.next, first.prev = first, before
	last.next, c.head.prev = c.head, last
}

// removePages takes the n pages behind the writer out of the ring. While the
// writer is on the reader page it keeps the page it will enter next.
//
// Kernel: rb_remove_pages, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) removePages(n int) {
	keep := c.tail
	if keep == c.reader {
		keep = keep.next
	}
	p, headGone := keep.next, false
	for range n {
		headGone = headGone || p == c.head
		if p.entries != 0 {
			c.overrun += uint64(p.entries)
			c.entriesBytes -= p.commit.Load()
			c.pagesLost++
		}
		p.clear()
		p.data = nil
		p = p.next
	}
	keep.next, p.prev = p, keep
	if headGone {
		c.head = p
	}
	c.generation++
	c.spare = nil
}

// SetSubbufSize changes the size of all sub-buffers (buffer_subbuf_size_kb). All
// events are lost. The number of sub-buffers is chosen anew, so that each CPU
// keeps at least the bytes of data it had. Counters are reset as well.
//
// Errors wrap EINVAL (not a power of two from 64 to 2^20) or EBUSY, as Resize.
//
// Departure: sizes below a page of memory are allowed, for experiments. The
// kernel keeps the counters and leaves the reset to its caller.
//
// Kernel: ring_buffer_subbuf_order_set, kernel/trace/ring_buffer.c.
func (b *Buffer) SetSubbufSize(size int) error {
	if err := validSubbufSize(size); err != nil {
		return err
	}
	if size == b.subbufSize {
		return nil
	}
	for _, c := range b.cpus {
		if err := c.resizable(); err != nil {
			return err
		}
		if err := checkPages(pagesFor(b.Size(c.cpu), size)); err != nil {
			return err
		}
	}
	keep := make([]int, len(b.cpus))
	for cpu := range b.cpus {
		keep[cpu] = pagesFor(b.Size(cpu), size)
	}
	b.setSubbufSize(size)
	for cpu, c := range b.cpus {
		c.rebuild(keep[cpu])
		b.Reset(cpu)
	}
	return nil
}
