package ringbuf

import "fmt"

// Check tells which invariant of cpu's ring does not hold, if any. No event may
// be reserved.
func Check(b *Buffer, cpu int) error {
	c := b.cpus[cpu]
	seen := map[*page]bool{}
	entries := unreadOn(c.reader)
	full := true // from the head up to the tail
	for p, n := c.head, 0; ; p = p.next {
		switch {
		case seen[p]:
			return fmt.Errorf("page %d is in the ring twice", n)
		case p.next.prev != p:
			return fmt.Errorf("page %d: next and prev do not agree", n)
		case p == c.reader:
			return fmt.Errorf("the reader page is in the ring")
		case p.write > c.capacity:
			return fmt.Errorf("page %d: write %d is past the page", n, p.write)
		case p.committed() > p.write && full && c.tail != c.reader:
			return fmt.Errorf("page %d: commit %d is past write %d", n, p.committed(), p.write)
		case len(p.data) != c.capacity && p.committed() > 0:
			return fmt.Errorf("page %d holds data but no memory", n)
		}
		seen[p] = true
		if full && c.tail != c.reader {
			entries += uint64(p.entries)
		}
		full = full && p != c.tail
		if n++; p.next == c.head {
			if n != c.nrPages {
				return fmt.Errorf("%d pages in a ring of %d", n, c.nrPages)
			}
			break
		}
	}
	switch {
	case c.committing != 0 || c.context != 0:
		return fmt.Errorf("committing %d, context %b at rest", c.committing, c.context)
	case c.commitPage != c.tail:
		return fmt.Errorf("the commit is not on the tail page")
	case c.tail != c.reader && !seen[c.tail]:
		return fmt.Errorf("the tail page is not in the ring")
	case c.tail.committed() != c.tail.write:
		return fmt.Errorf("commit %d, write %d at rest", c.tail.committed(), c.tail.write)
	case entries != c.unread():
		return fmt.Errorf("%d events on the pages, entries say %d", entries, c.unread())
	}
	return checkLedger(b.Ledger(cpu), b.subbufSize)
}

func checkLedger(l Ledger, subbufSize int) error {
	sum := l.PageHeader + l.EventHeader + l.LengthWord + l.Payload + l.Align +
		l.Extend + l.Discarded + l.Tail + l.Unused
	if sum != l.Pages*uint64(subbufSize) || l.Align > 12*l.Events {
		return fmt.Errorf("ledger of %d pages sums to %d bytes: %+v", l.Pages, sum, l)
	}
	return nil
}

// unreadOn counts the events that a reader has not yet read of its page.
func unreadOn(p *page) (n uint64) {
	for off := p.read; off < p.committed(); {
		it, fault := decodeItem(p.data, off, p.committed())
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

// Interrupt calls fn whenever the writer of cpu is at a named point; fn may
// write. Nil ends it.
func Interrupt(b *Buffer, cpu int, fn func(point string)) {
	if fn == nil {
		b.cpus[cpu].hook = nil
		return
	}
	names := [...]string{"A", "B", "C", "D", "E", "F", "commit"}
	b.cpus[cpu].hook = func(p point) { fn(names[p]) }
}

// HeldPages is how many sub-buffers' memory the ring of cpu holds.
func HeldPages(b *Buffer, cpu int) int {
	c := b.cpus[cpu]
	n := len(c.spare)
	if c.reader.data != nil {
		n++
	}
	for p := c.head; ; {
		if p.data != nil {
			n++
		}
		if p = p.next; p == c.head {
			return n
		}
	}
}
