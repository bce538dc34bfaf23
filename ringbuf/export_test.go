package ringbuf

import "fmt"

// Check tells which invariant of cpu's ring does not hold, if any. No event may
// be reserved.
func Check(b *Buffer, cpu int) error {
	c := b.writer(cpu)
	if err := checkRing(c); err != nil {
		return err
	}
	entries, _ := c.written()
	switch {
	case c.committing != 0 || c.context != 0:
		return fmt.Errorf("committing %d, context %b at rest", c.committing, c.context)
	case c.commitPage != c.tail:
		return fmt.Errorf("the commit is not on the tail page")
	case c.tail.committed() != c.tail.write:
		return fmt.Errorf("commit %d, write %d at rest", c.tail.committed(), c.tail.write)
	}
	var onPages uint64
	for _, p := range livePages(c) {
		onPages += unreadOn(c, p)
	}
	if unread := entries - c.overrun.Load() - c.readEvents; onPages != unread {
		return fmt.Errorf("%d events on the pages, entries say %d", onPages, unread)
	}
	return checkLedger(b.Ledger(cpu), b.subbufSize)
}

// checkRing is what holds at every moment, whoever is in the middle of what: the
// pages are as many as they should be and distinct, the reader page is outside,
// the head is marked, and commit and tail are where they may be.
func checkRing(c *cpuBuffer) error {
	seen := map[*page]int{}
	var marks []string
	p := c.head
	for n := 0; ; n++ {
		if p == nil {
			return fmt.Errorf("page %d is not in the table", n)
		}
		if _, twice := seen[p]; twice {
			if n != c.nrPages || seen[p] != 0 {
				return fmt.Errorf("%d pages in a ring of %d, back at page %d", n, c.nrPages, seen[p])
			}
			break
		}
		seen[p] = n
		link := p.next.Load()
		switch link & linkFlags {
		case linkHead:
			marks = append(marks, "head")
		case linkUpdate:
			marks = append(marks, "update")
		case linkFlags:
			return fmt.Errorf("page %d: link with flags 3", n)
		}
		if sub := p.sub.Load(); sub != nil && len(sub.data) != c.capacity {
			return fmt.Errorf("page %d has %d bytes of memory", n, len(sub.data))
		}
		p = c.table[link>>linkShift]
	}
	if _, in := seen[c.reader]; in {
		return fmt.Errorf("the reader page is in the ring")
	}
	if _, in := seen[c.tail]; !in && c.tail != c.reader {
		return fmt.Errorf("the tail page is lost")
	}
	if _, in := seen[c.commitPage]; !in && c.commitPage != c.reader {
		return fmt.Errorf("the commit page is lost")
	}
	if _, in := seen[c.after(c.tail)]; !in {
		return fmt.Errorf("the tail page does not lead into the ring")
	}
	if len(seen)+1 != len(c.table)-len(c.freeIDs) {
		return fmt.Errorf("%d pages, the table has %d", len(seen)+1, len(c.table)-len(c.freeIDs))
	}
	if len(marks) == 0 || len(marks) > 3 || c.committing == 0 && (len(marks) != 1 || marks[0] != "head") {
		return fmt.Errorf("links are marked %q", marks)
	}
	if c.commitPage.committed() > c.commitPage.write {
		return fmt.Errorf("commit %d is past write %d", c.commitPage.committed(), c.commitPage.write)
	}
	return checkOrder(c)
}

// checkOrder follows the ring from the commit page to the tail page: their serial
// numbers count up, and the head is not in between.
func checkOrder(c *cpuBuffer) error {
	p := c.commitPage
	for n := 0; p != c.tail; n++ {
		next := c.after(p)
		if next.serial.Load() != p.serial.Load()+1 || n > c.nrPages {
			return fmt.Errorf("the tail is not reached from the commit: serial %d, then %d", p.serial.Load(), next.serial.Load())
		}
		if p != c.reader && p.next.Load()&linkFlags == linkHead {
			return fmt.Errorf("the head is between commit and tail")
		}
		p = next
	}
	return nil
}

// livePages are the reader page and those from the head to the tail.
func livePages(c *cpuBuffer) []*page {
	list := []*page{c.reader}
	if c.tail == c.reader {
		return list
	}
	for p := c.findHead(); ; p = c.after(p) {
		list = append(list, p)
		if p == c.tail {
			return list
		}
	}
}

func checkLedger(l Ledger, subbufSize int) error {
	sum := l.PageHeader + l.EventHeader + l.LengthWord + l.Payload + l.Align +
		l.Extend + l.Discarded + l.Tail + l.Unused
	if sum != l.Pages*uint64(subbufSize) || l.Align > 12*l.Events {
		return fmt.Errorf("ledger of %d pages sums to %d bytes: %+v", l.Pages, sum, l)
	}
	return nil
}

// unreadOn counts the events of a page that no reader has read.
func unreadOn(c *cpuBuffer, p *page) (n uint64) {
	off := 0
	if p == c.reader {
		off = c.read
	}
	for off < p.committed() {
		it, fault := decodeItem(p.sub.Load().data, off, p.committed())
		if fault != "" {
			panic(fault)
		}
		if it.typeLen <= TypeDataMax {
			n++
		}
		off += it.size
	}
	return n
}

// Points are the writer's, in the order of their numbers.
var Points = []string{"A", "B", "C", "D", "E", "F", "update", "head", "tail", "commit"}

// Interrupt calls fn whenever the writer of cpu is at a named point; fn may
// write. Nil ends it.
func Interrupt(b *Buffer, cpu int, fn func(point string)) {
	if fn == nil {
		b.writer(cpu).hook = nil
		return
	}
	b.writer(cpu).hook = func(p point) { fn(Points[p]) }
}

// HeldPages is how many sub-buffers' memory the ring of cpu holds.
func HeldPages(b *Buffer, cpu int) (n int) {
	c := b.writer(cpu)
	for s := c.spare.Load(); s != nil; s = s.next {
		n++
	}
	for _, p := range c.table {
		if p != nil && p.sub.Load() != nil {
			n++
		}
	}
	return n
}
