package ringbuf

import (
	"fmt"
	"strings"
)

// PageState is one sub-buffer of a ring for drawing, see Buffer.State.
type PageState struct {
	Reader, Head, Commit, Tail bool   // which of the pointers are on it
	ID                         int    // the sub-buffer's own
	Next                       int    // ID of the page that its link leads to
	Link                       string // what its link says of that page: "", "head" or "update"
	Time                       uint64 // time stamp; 0 if it has no data
	Committed, Write, Read     int    // indexes into its data
	Entries                    int    // finished data events
}

// State shows the sub-buffers of cpu: the reader page, then the ring from its
// head on. It copies no data and changes nothing.
//
// Write is the writer's own word: except for the pages that it has left, State
// is for the goroutine that writes, or while it does not.
func (b *Buffer) State(cpu int) []PageState {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	list := make([]PageState, 0, c.nrPages+1)
	list = append(list, c.state(c.reader))
	head := c.head
	for n := 0; n < c.nrPages && c.before(head).next.Load()&linkFlags == linkNormal; n++ {
		head = c.after(head) // from wherever the hint is; the head may be moving
	}
	for p := head; ; {
		list = append(list, c.state(p))
		if p = c.after(p); p == head {
			list[1].Head = true
			return list
		}
	}
}

func (c *cpuBuffer) state(p *page) PageState {
	s := PageState{
		Reader: p == c.reader, Commit: p == c.commitPage, Tail: p == c.tail,
		ID: int(p.id), Next: int(p.next.Load() >> linkShift), Write: p.write,
		Link: [...]string{"", "head", "update", ""}[p.next.Load()&linkFlags],
	}
	if s.Reader {
		s.Read = c.read
	}
	if sub := p.sub.Load(); sub != nil {
		commit := sub.commit.Load()
		s.Time, s.Committed, s.Entries = sub.stamp.Load(), int(commit&commitMask), int(commit>>32)
	}
	return s
}

// Draw draws the sub-buffers of cpu with the letters of the kernel's
// ring-buffer-design: R the reader page, H the head, C the commit, T the tail.
// The arrow that leads to the head is marked, as its link is. Under each page is
// how many events it has, and how many of its bytes are finished and written.
//
// Like State it is for the goroutine that writes, or while it does not.
func (b *Buffer) Draw(cpu int) string {
	list := b.State(cpu)
	var letters, boxes, events, bytes strings.Builder
	for i, p := range list {
		mark := ""
		for _, m := range []struct {
			on     bool
			letter string
		}{{p.Reader, "R"}, {p.Head, "H"}, {p.Commit, "C"}, {p.Tail, "T"}} {
			if m.on {
				mark += m.letter
			}
		}
		arrow := "   "
		switch {
		case i == 0: // outside of the ring
		case p.Link != "":
			arrow = "-" + strings.ToUpper(p.Link[:1]) + ">"
		default:
			arrow = "-->"
		}
		fmt.Fprintf(&letters, "    %-10s", mark)
		fmt.Fprintf(&boxes, "[ page %-2d]%s ", p.ID, arrow)
		fmt.Fprintf(&events, "  %-12s", fmt.Sprintf("%d events", p.Entries))
		fmt.Fprintf(&bytes, "  %-12s", fmt.Sprintf("%d/%d B", p.Committed, p.Write))
	}
	var s strings.Builder
	for _, line := range []string{letters.String(), boxes.String(), events.String(), bytes.String()} {
		s.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return s.String()
}
