package ringbuf

import (
	"errors"
	"fmt"
)

// ErrLedger is what Check says of a ring whose ledger does not know all events.
var ErrLedger = errors.New("the ledger is wrong")

// Check tells which invariant of cpu's ring does not hold, if any. No event may
// be reserved.
func Check(b *Buffer, cpu int) error {
	c := settled(b, cpu)
	if err := checkRing(c); err != nil {
		return err
	}
	entries, _ := c.written()
	for p, n := c.head, 0; n < c.nrPages; p, n = c.after(p), n+1 {
		if p == c.reader {
			return fmt.Errorf("the reader page is in the ring")
		}
	}
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

// settled is the ring with all words of the writer up to date.
func settled(b *Buffer, cpu int) *cpuBuffer {
	c := b.writer(cpu)
	c.settle()
	return c
}

// checkRing is what holds at every moment, whoever is in the middle of what: the
// pages are as many as they should be and distinct, the reader page is outside,
// the head is marked, and commit and tail are where they may be.
func checkRing(c *cpuBuffer) error {
	var tail, commit, reader bool // found in the ring
	heads, updates := 0, 0
	first := c.after(c.tail)
	p := first
	for n := range c.nrPages {
		link := p.next.Load()
		switch link & linkFlags {
		case linkHead:
			heads++
		case linkUpdate:
			updates++
		case linkFlags:
			return fmt.Errorf("page %d: link with flags 3", n)
		}
		if sub := p.sub.Load(); sub != nil && len(sub.data) != c.capacity {
			return fmt.Errorf("page %d has %d bytes of memory", n, len(sub.data))
		}
		tail, commit, reader = tail || p == c.tail, commit || p == c.commitPage, reader || p == c.reader
		if p = c.after(p); p == nil || p == first && n+1 < c.nrPages {
			return fmt.Errorf("%d pages in a ring of %d", n+1, c.nrPages)
		}
	}
	switch {
	case p != first:
		return fmt.Errorf("more than %d pages, or a ring that does not close", c.nrPages)
	case !commit && tail:
		// A reader has it, and will know that it is the reader page.
	case !tail && commit:
		return fmt.Errorf("the tail page is lost")
	case c.nrPages+1 != len(c.table)-len(c.freeIDs):
		return fmt.Errorf("%d pages, the table has %d", c.nrPages+1, len(c.table)-len(c.freeIDs))
	case heads+updates == 0 || updates > c.committing || c.committing == 0 && (heads != 1 || updates != 0):
		return fmt.Errorf("%d links are head, %d update", heads, updates)
	case c.commitPage.committed() > c.commitPage.write:
		return fmt.Errorf("commit %d is past write %d", c.commitPage.committed(), c.commitPage.write)
	}
	if !reader && (!tail && c.tail != c.reader || !commit && c.commitPage != c.reader) {
		return fmt.Errorf("tail or commit page are neither in the ring nor the reader page")
	}
	if updates > 0 {
		return nil // whoever moves the head may just have set a mark that it takes back
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
		return fmt.Errorf("%w: %d pages sum to %d bytes: %+v", ErrLedger, l.Pages, sum, l)
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

// HeldPages is how many sub-buffers' memory the ring of cpu holds.
func HeldPages(b *Buffer, cpu int) (n int) {
	c := b.writer(cpu)
	for s := c.spare; s != nil; s = s.next.Load() {
		if s.data != nil {
			n++
		}
	}
	for _, p := range c.table {
		if p != nil && p.sub.Load() != nil {
			n++
		}
	}
	return n
}

// CheckRunning tells which invariant that holds at every moment does not hold.
func CheckRunning(b *Buffer, cpu int) error { return checkRing(settled(b, cpu)) }

// Fingerprint is a hash of all that a reader or a writer could see of a ring.
func Fingerprint(b *Buffer, cpu int) uint64 {
	c := settled(b, cpu)
	h := uint64(14695981039346656037)
	mix := func(words ...uint64) {
		for _, w := range words {
			h = (h ^ w) * 1099511628211
			h ^= h >> 29
		}
	}
	mix(uint64(c.tail.id), uint64(c.commitPage.id), uint64(c.reader.id), uint64(c.read), uint64(c.committing),
		c.context, c.beforeStamp, c.writeStamp, c.overrun.Load(), c.readEvents, c.lost)
	for _, p := range c.table {
		if p != nil {
			mix(uint64(p.next.Load()), uint64(p.prev.Load()), uint64(p.write), uint64(p.committed()))
		}
	}
	return h
}

// Pause calls fn whenever a reader of cpu is at a named point. Nil ends it.
func Pause(b *Buffer, cpu int, fn func(point string)) {
	names := map[ReadPoint]string{ReadSpin: "spin", ReadHead: "head", ReadTaken: "taken", ReadPage: "page", ReadHeld: "held"}
	b.writer(cpu).readHook = nil
	if fn != nil {
		b.writer(cpu).readHook = func(p ReadPoint) {
			if name, ok := names[p]; ok {
				fn(name)
			}
		}
	}
}

// EnterHalfway makes the oldest page look as while the writer enters it: it has its
// new serial number already and its old memory still. The head is not to be found,
// as while the writer moves it. What is returned takes that back.
func EnterHalfway(b *Buffer, cpu int) (undo func()) {
	c := settled(b, cpu)
	oldest := c.after(c.tail)
	link, serial := c.tail.next.Load(), oldest.serial.Load()
	c.tail.next.Store(linkTo(oldest, linkUpdate))
	oldest.serial.Store(c.serial + 1)
	return func() {
		c.tail.next.Store(link)
		oldest.serial.Store(serial)
	}
}

// HasHead reports whether a reader would find the head, or wait for the writer.
func HasHead(b *Buffer, cpu int) bool {
	c := b.writer(cpu)
	for _, p := range c.table {
		if p != nil && p != c.reader && p.next.Load()&linkFlags == linkHead {
			return true
		}
	}
	return false
}

// CommitPosition is how far readers may read: the page's serial number, and its
// commit word.
func CommitPosition(b *Buffer, cpu int) [2]uint64 {
	c := b.writer(cpu)
	return [2]uint64{c.commitAt.Load(), c.commitSub.commit.Load()}
}

// Watch is what Wait does before it sleeps.
func Watch(b *Buffer, cpu, percent int) (woken <-chan struct{}, kicks int, hit bool) {
	return b.watch(cpu, percent)
}

// UnreadBytes adds up what is unread on the pages, and tells how many bytes of
// discarded events have stayed in the counter.
func UnreadBytes(b *Buffer, cpu int) (sum, kept uint64) {
	c := b.writer(cpu)
	for _, p := range livePages(c) {
		sum += uint64(p.committed())
	}
	return sum - uint64(c.read), c.keptBytes.Load()
}

// Committing is how many events are reserved and have not quite ended.
func Committing(b *Buffer, cpu int) int { return settled(b, cpu).committing }

// ReadEvents is the counter "read events", while the writer may be anywhere.
func ReadEvents(b *Buffer, cpu int) uint64 { return b.writer(cpu).readEvents }

// Bugs make of a writer at one of its points one that has a bug there.
var Bugs = map[string]func(b *Buffer, at Point){
	"before_stamp is not set": func(b *Buffer, at Point) {
		if c := b.writer(0); at == PointB {
			c.beforeStamp = c.writeStamp
		}
	},
	"an interrupt moves the commit": func(b *Buffer, at Point) {
		if c := b.writer(0); at == PointCommits && c.committing > 1 {
			c.moveCommit()
		}
	},
	"the end of an event does not look again": func(b *Buffer, at Point) {
		if c := b.writer(0); at == PointCommits || at == PointLowered {
			c.commits = 0
		}
	},
	"the overwritten head stays the head": func(b *Buffer, at Point) {
		if c := b.writer(0); at == PointTail {
			before := c.before(c.head)
			before.next.Store(before.next.Load() | linkHead)
		}
	},
	"write_stamp is set before its room is sure": func(b *Buffer, at Point) {
		if c := b.writer(0); at == PointC {
			c.writeStamp = c.beforeStamp
		}
	},
}
