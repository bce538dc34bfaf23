package ringbuf

import "sync/atomic"

// maxSubbufSize is the most bytes that the kernel's write index can count.
//
// Kernel: RB_WRITE_MASK, kernel/trace/ring_buffer.c.
const maxSubbufSize = 1 << 20

// page is one place of a ring (struct buffer_page). It is 64 bytes, so that no
// two share a cache line.
type page struct {
	id   uint32        // its index in cpuBuffer.table
	next atomic.Uint32 // a link; see linkNormal for who changes it
	prev atomic.Uint32 // id; changed by readers, under their lock

	// serial says which page this is of all that the writer has ever entered.
	// The writer stores it before it touches the memory, see enterPage.
	serial atomic.Uint64

	// sub is set from the moment the writer enters the page until a reader has
	// emptied it; after that another page may use the memory.
	sub atomic.Pointer[subbuf]

	// These belong to the writer until it has moved the commit to another page,
	// and then to the reader that takes the page.
	write   int // index of the next reservation; past the capacity: one is failing
	entries int // data events reserved and not discarded
	realEnd int // where data ended when the rest was padded; 0: to the last byte

	_ [8]byte
}

// subbuf is the memory of a page (struct buffer_data_page). It is 128 bytes:
// the commit word, which the writer stores for every event, has a cache line of
// its own, so that readers that look for the page do not disturb the writer.
type subbuf struct {
	// commit is what readers may look at: the number of finished bytes and,
	// from bit 32 on, the number of data events in them. The writer stores it
	// when its outermost event ends, after all bytes below are in place, and
	// never writes below it again while the page is the same.
	commit atomic.Uint64

	_ [56]byte

	stamp atomic.Uint64 // time of the first event; stored before the commit that publishes it

	// What all pages before this one held, stored when the commit comes here.
	entriesBefore atomic.Uint64
	bytesBefore   atomic.Uint64

	held atomic.Int32           // iterators that look at it; see Iter
	next atomic.Pointer[subbuf] // while it is spare
	data []byte                 // the sub-buffer without its header
}

const commitMask = 1<<32 - 1 // of subbuf.commit: the bytes

func (s *subbuf) committed() int { return int(s.commit.Load() & commitMask) }

// committed is the number of finished bytes on a page; it is 0 for a page
// without memory.
func (p *page) committed() int {
	if s := p.sub.Load(); s != nil {
		return s.committed()
	}
	return 0
}

// Links are the next pointers of a ring: the id of a page, and in the two low
// bits what the kernel keeps in those of the pointer.
//
//	normal  just the next page
//	head    the next page is the head: a reader takes it by exchanging this
//	        link for one to its empty page
//	update  the writer is about to move the head from the next page on; until it
//	        is done no reader can take it
//
// Reader and writer compete for the head by compare-and-swap of the one link
// that leads to it. The writer only ever changes the bits, and a reader changes
// the id.
//
// Kernel: RB_PAGE_HEAD and RB_PAGE_UPDATE, kernel/trace/ring_buffer.c.
const (
	linkNormal = 0
	linkHead   = 1
	linkUpdate = 2
	linkFlags  = 3
	linkShift  = 2
)

func linkTo(p *page, flag uint32) uint32 { return p.id<<linkShift | flag }

// after is the page that p's link leads to.
func (c *cpuBuffer) after(p *page) *page { return c.table[p.next.Load()>>linkShift] }

func (c *cpuBuffer) before(p *page) *page { return c.table[p.prev.Load()] }

// newPages adds n empty pages to the table, linked in a circle, and returns one
// of them. They use the ids of removed pages first.
func (c *cpuBuffer) newPages(n int) *page {
	pages := make([]page, n)
	for i := range pages {
		p := &pages[i]
		if k := len(c.freeIDs); k > 0 {
			p.id = c.freeIDs[k-1]
			c.freeIDs = c.freeIDs[:k-1]
			c.table[p.id] = p
		} else {
			p.id = uint32(len(c.table))
			c.table = append(c.table, p)
		}
	}
	for i := range pages {
		c.join(&pages[i], &pages[(i+1)%n], linkNormal)
	}
	return &pages[0]
}

// join makes b the page after a.
func (c *cpuBuffer) join(a, b *page, flag uint32) {
	a.next.Store(linkTo(b, flag))
	b.prev.Store(a.id)
}

// emptyPage frees a page that has been read or whose data is given up.
//
// Kernel: rb_clear_buffer_page, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) emptyPage(p *page) {
	p.write, p.entries, p.realEnd = 0, 0, 0
	c.release(p)
}
