package ringbuf

import (
	"encoding/binary"
	"fmt"
	"slices"
	"syscall"
)

// A ring that lives in memory which survives a reboot (trace_instance=boot_map@…)
// is an image: a header, the order of the sub-buffers, and the sub-buffers.
//
//	offset  0  u32 magic 0xbadfeed, u32 struct_size 56
//	        8  u64 text_addr, data_addr: of the kernel that wrote it
//	       24  u64 first_buffer, head_buffer, commit_buffer: addresses
//	       48  u32 subbuf_size, nr_subbufs
//	       56  s32 buffers[nr_subbufs]: where the reader page is, then the ring in order
//
// and from first_buffer on, at the next multiple of 8, the sub-buffers.
//
// Kernel: struct ring_buffer_meta, kernel/trace/ring_buffer.c.
const (
	imageMagic      = 0xbadfeed
	imageHeaderSize = 56
)

func imageDataOffset(subbufs int) int { return (imageHeaderSize + 4*subbufs + 7) &^ 7 }

// Image is the ring of cpu as it would be found in memory after a crash at this
// moment: whole events up to the commit, and after it whatever the writer has
// put there. The image pretends to lie at address base, which is not 0.
//
// It is for the goroutine that writes, between any two of its steps, or while it
// does not write.
//
// Departure: the sub-buffers lie in the order of the ring, the reader page first;
// in the kernel each stays where it is and buffers tells the order.
//
// Kernel: rb_range_meta_init, rb_meta_buffer_update, kernel/trace/ring_buffer.c.
func (b *Buffer) Image(cpu int, base uint64) []byte {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	c.settle()
	n, size := c.nrPages+1, b.subbufSize
	start := imageDataOffset(n)
	image := make([]byte, start+n*size)
	le := binary.LittleEndian
	le.PutUint32(image, imageMagic)
	le.PutUint32(image[4:], imageHeaderSize)
	first := base + uint64(start)
	le.PutUint64(image[24:], first)
	le.PutUint32(image[48:], uint32(size))
	le.PutUint32(image[52:], uint32(n))

	head := c.headAfterCrash()
	p := c.reader
	for i := range n {
		le.PutUint32(image[imageHeaderSize+4*i:], uint32(i))
		at := image[start+i*size:][:size]
		if s := p.sub.Load(); s != nil {
			putPageHeader(at, s.stamp.Load(), uint64(s.committed()))
			copy(at[PageHeaderSize:], s.data)
		}
		if p == c.commitPage {
			le.PutUint64(image[40:], first+uint64(i*size))
		}
		if i == 0 {
			p = head
			le.PutUint64(image[32:], first+uint64(size))
		} else {
			p = c.after(p)
		}
	}
	return image
}

// headAfterCrash is the oldest page that is not given up, even while the writer
// is moving the head.
//
// Kernel: rb_update_meta_head, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) headAfterCrash() *page {
	p := c.head
	for range c.nrPages {
		next := c.after(p)
		switch p.next.Load() & linkFlags {
		case linkHead:
			return next
		case linkUpdate:
			if next.next.Load()&linkFlags == linkNormal { // the new head is not set yet
				return c.after(next)
			}
		}
		p = next
	}
	panic("ringbuf: invariant: no link is head or update")
}

// imageFault says that an image is not what a writer leaves.
func imageFault(off int, format string, args ...any) error {
	return fmt.Errorf("ringbuf: image offset %d: %s: %w", off, fmt.Sprintf(format, args...), syscall.EINVAL)
}

// pageIndex returns the index of the sub-buffer that an address in the header
// points to.
func pageIndex(image []byte, off int, what string) (int, error) {
	le := binary.LittleEndian
	first, at := le.Uint64(image[24:]), le.Uint64(image[off:])
	size, n := uint64(le.Uint32(image[48:])), uint64(le.Uint32(image[52:]))
	if at < first || at-first >= size*n {
		return 0, imageFault(off, "%s buffer is out of range", what)
	}
	if (at-first)%size != 0 {
		return 0, imageFault(off, "%s buffer is not where a sub-buffer begins", what)
	}
	return int((at - first) / size), nil
}

// checkImage checks the header of an image, before any page is looked at.
//
// Kernel: rb_meta_valid, kernel/trace/ring_buffer.c.
func checkImage(image []byte, subbufSize int) (head, commit, n int, err error) {
	le := binary.LittleEndian
	switch {
	case len(image) < imageHeaderSize:
		return 0, 0, 0, imageFault(0, "%d bytes are shorter than the header", len(image))
	case le.Uint32(image) != imageMagic || le.Uint32(image[4:]) != imageHeaderSize:
		return 0, 0, 0, imageFault(0, "magic or struct size do not match")
	case le.Uint32(image[48:]) != uint32(subbufSize):
		return 0, 0, 0, imageFault(48, "sub-buffers of %d bytes, not %d", le.Uint32(image[48:]), subbufSize)
	}
	n = int(le.Uint32(image[52:]))
	if n < 3 || n > maxPages+1 || len(image) != imageDataOffset(n)+n*subbufSize {
		return 0, 0, 0, imageFault(52, "%d sub-buffers do not fit an image of %d bytes", n, len(image))
	}
	if head, err = pageIndex(image, 32, "head"); err != nil {
		return 0, 0, 0, err
	}
	if commit, err = pageIndex(image, 40, "commit"); err != nil {
		return 0, 0, 0, err
	}
	seen := make([]bool, n)
	for i := range n {
		off := imageHeaderSize + 4*i
		id := le.Uint32(image[off:])
		switch {
		case id >= uint32(n):
			return 0, 0, 0, imageFault(off, "sub-buffer %d of %d", id, n)
		case seen[id]:
			return 0, 0, 0, imageFault(off, "sub-buffer %d a second time", id)
		}
		seen[id] = true
		at := imageDataOffset(n) + i*subbufSize + 8
		if size := le.Uint64(image[at:]); size > uint64(subbufSize-PageHeaderSize) {
			return 0, 0, 0, imageFault(at, "commit %d on a sub-buffer of %d bytes", size, subbufSize)
		}
	}
	return head, commit, n, nil
}

// Recover makes a buffer of one CPU from an image, as a kernel does at boot
// when it finds one. What was readable when the image was made is readable
// again: the reader page from its start, then the ring from the head to the
// commit. The buffer is for reading; what is written to it follows after that.
//
// The image may hold anything. The error, which wraps EINVAL, gives the offset
// at which the image is not what a writer leaves; the kernel begins with an
// empty ring in that case.
//
// Departure: the kernel drops the sub-buffers from the reader page to the commit
// page if one of them is bad, which Recover reports; and it looks less closely at
// an address that is within the image but not at the start of a sub-buffer.
//
// Kernel: rb_meta_valid, rb_meta_validate_events, kernel/trace/ring_buffer.c.
func Recover(image []byte, cfg Config) (*Buffer, error) {
	if cfg.SubbufSize == 0 {
		cfg.SubbufSize = 4096
	}
	if err := validSubbufSize(cfg.SubbufSize); err != nil {
		return nil, err
	}
	head, commit, n, err := checkImage(image, cfg.SubbufSize)
	if err != nil {
		return nil, err
	}
	cfg.CPUs, cfg.Size = 1, (n-1)*(cfg.SubbufSize-PageHeaderSize)
	b, err := New(cfg)
	if err != nil {
		return nil, err
	}
	c := b.writer(0)
	order := make([]int, 0, n)
	for i := range n {
		order = append(order, int(binary.LittleEndian.Uint32(image[imageHeaderSize+4*i:])))
	}
	if err := c.recover(image, order, head, commit); err != nil {
		return nil, err
	}
	return b, nil
}

// recover fills an empty ring: the reader page, then from the head up to the
// commit.
func (c *cpuBuffer) recover(image []byte, order []int, head, commit int) error {
	at := slices.Index(order, head) // where in the ring the head is
	if at == 0 {
		return imageFault(32, "the head is the reader page")
	}
	start, size := imageDataOffset(len(order)), c.buf.subbufSize
	load := func(p *page, id int) error {
		off := start + id*size
		return c.load(p, image[off:off+size], off)
	}
	c.emptyPage(c.head)
	c.reader.next.Store(linkTo(c.head, linkNormal))
	c.enterPage(c.reader)
	c.commitPage, c.commitSub = c.tail, c.tail.sub.Load()
	c.commitAt.Store(c.tail.serial.Load()<<idBits | uint64(c.tail.id))
	if err := load(c.reader, order[0]); err != nil || order[0] == commit {
		return err
	}
	p := c.head
	for range c.nrPages {
		c.enterPage(p)
		if err := load(p, order[at]); err != nil || order[at] == commit {
			return err
		}
		p = c.after(p)
		if at++; at == len(order) {
			at = 1
		}
	}
	return imageFault(40, "the commit page is not found")
}

// load copies the data of a page image, found at off, to the page that the
// writer is on. It checks first that each event lies within what is committed,
// and that time does not go back.
//
// Kernel: rb_validate_buffer, rb_read_data_buffer, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) load(p *page, image []byte, off int) error {
	r, err := ReadPageImage(image)
	if err != nil {
		return fmt.Errorf("ringbuf: image offset %d: %w: %w", off, err, syscall.EINVAL)
	}
	entries := 0
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.IsData() {
			entries++
		}
	}
	if r.Err() != nil {
		return fmt.Errorf("ringbuf: image offset %d: %w: %w", off, r.Err(), syscall.EINVAL)
	}
	sub := p.sub.Load()
	copy(sub.data, image[PageHeaderSize:])
	sub.stamp.Store(r.Time())
	p.write, p.entries = r.Commit(), entries
	c.beforeStamp, c.writeStamp = r.now, r.now
	c.moveCommit()
	return nil
}
