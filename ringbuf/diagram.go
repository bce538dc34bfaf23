package ringbuf

import (
	"fmt"
	"slices"
	"strings"
)

// Diagram is the ring of one CPU at a moment, to look at and to draw; it is a
// copy.
type Diagram struct {
	Pages       []PageState // the page outside of the ring, which is the reader's, then the ring from its head on
	Open        []OpenEvent // reserved and not ended, the outermost first
	BeforeStamp uint64      // time of the last attempt to write
	WriteStamp  uint64      // time of the last event written; if it differs from BeforeStamp, somebody is between B and D
	Stats       Stats       // the counters, without OldestTS
}

// PageState is one sub-buffer of a Diagram.
type PageState struct {
	Reader, Head, Commit, Tail bool        // which of the pointers are on it
	ID                         int         // the sub-buffer's own
	Next                       int         // ID of the page that its link leads to
	Link                       string      // what its link says of that page: "", "head" or "update"
	Time                       uint64      // time stamp; 0 if it has no data
	Committed, Write, Read     int         // indexes into its data
	Entries                    int         // finished data events
	Events                     []PageEvent // all that is finished on it, each with what its header says
	Bytes                      []byte      // the sub-buffer as it is in memory: 16 bytes of header, then data, finished or not
}

// OpenEvent is the place of an event that is being written, its time extend
// included. Between A and C it has no place yet.
type OpenEvent struct {
	Page, Offset int // ID, and index into its data
}

// Diagram copies the state of the ring of cpu. It changes nothing.
//
// It is for the goroutine that writes (between two events, inside one, or in an
// interrupt at a Point), or while it does not write. While a reader stands at
// ReadTaken, the page outside of the ring is not the reader's yet, and the reader's is
// in the ring.
func (b *Buffer) Diagram(cpu int) Diagram { return b.diagram(cpu, true) }

// Outline is Diagram without Events and Bytes, which take nearly all of its time.
func (b *Buffer) Outline(cpu int) Diagram { return b.diagram(cpu, false) }

func (b *Buffer) diagram(cpu int, data bool) Diagram {
	c, done := b.look(cpu)
	defer done()
	c.settle()
	s := Diagram{BeforeStamp: c.beforeStamp, WriteStamp: c.writeStamp, Stats: c.counters()}
	for _, e := range c.open[:c.committing] {
		if e.page != nowhere {
			s.Open = append(s.Open, OpenEvent{int(e.page), int(e.off)})
		}
	}
	head := c.headToDraw()
	s.Pages = append(s.Pages, c.state(c.outside(head), data))
	for p := head; ; {
		s.Pages = append(s.Pages, c.state(p, data))
		if p = c.after(p); p == head {
			s.Pages[1].Head = true
			return s
		}
	}
}

// headToDraw is the page to which a link with a flag leads, from wherever the hint is;
// the head may be moving.
func (c *cpuBuffer) headToDraw() *page {
	head := c.head
	for n := 0; n < c.nrPages; n++ {
		if before := c.before(head); before.next.Load()&linkFlags != linkNormal && c.after(before) == head {
			return head
		}
		head = c.after(head)
	}
	// A reader has exchanged the head, and has not yet said so to the page after it.
	for p, n := c.after(c.head), 0; n <= c.nrPages; p, n = c.after(p), n+1 {
		if p.next.Load()&linkFlags != linkNormal {
			return c.after(p)
		}
	}
	return c.after(c.head)
}

// outside is the one page that is not in the ring.
func (c *cpuBuffer) outside(head *page) *page {
	out := c.reader
	for p, n := head, 0; n < c.nrPages; p, n = c.after(p), n+1 {
		if p != c.reader {
			continue
		}
		in := make(map[*page]bool, c.nrPages)
		for q := head; !in[q]; q = c.after(q) {
			in[q] = true
		}
		for _, q := range c.table {
			if q != nil && !in[q] {
				out = q
			}
		}
	}
	return out
}

func (c *cpuBuffer) state(p *page, data bool) PageState {
	s := PageState{
		Reader: p == c.reader, Commit: p == c.commitPage, Tail: p == c.tail,
		ID: int(p.id), Next: int(p.next.Load() >> linkShift), Write: p.write,
		Link: [...]string{"", "head", "update", ""}[p.next.Load()&linkFlags],
	}
	if s.Reader {
		s.Read = c.read
	}
	sub := p.sub.Load()
	if sub == nil {
		return s
	}
	commit := sub.commit.Load()
	s.Time, s.Committed, s.Entries = sub.stamp.Load(), int(commit&commitMask), int(commit>>32)
	if !data {
		return s
	}
	s.Bytes = make([]byte, PageHeaderSize+len(sub.data))
	putPageHeader(s.Bytes, s.Time, uint64(s.Committed))
	copy(s.Bytes[PageHeaderSize:], sub.data)
	r, err := ReadPageImage(s.Bytes[:PageHeaderSize+s.Committed])
	if err != nil {
		panic("ringbuf: invariant: committed data: " + err.Error())
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		s.Events = append(s.Events, e)
	}
	return s
}

// String draws the sub-buffers with the letters of the kernel's
// ring-buffer-design: R the reader page, H the head, C the commit, T the tail.
// The arrow that leads to the head is marked, as its link is. Under each page is
// how many events it has, and how many of its bytes are finished and written.
//
// A row has at most five pages; a blank line is between rows. Of many pages in a row that no pointer is on, the first
// and the last are drawn and the others counted.
func (d Diagram) String() string {
	var rows []string
	for boxes := range slices.Chunk(d.boxes(), rowBoxes) {
		var lines [4]strings.Builder
		for _, b := range boxes {
			fmt.Fprintf(&lines[0], "    %-10s", b.letters)
			fmt.Fprintf(&lines[1], "[%-8s]%s ", b.name, b.arrow)
			fmt.Fprintf(&lines[2], "  %-12s", b.events)
			fmt.Fprintf(&lines[3], "  %-12s", b.bytes)
		}
		var row strings.Builder
		for i := range lines {
			row.WriteString(strings.TrimRight(lines[i].String(), " ") + "\n")
		}
		rows = append(rows, row.String())
	}
	return strings.Join(rows, "\n")
}

const (
	rowBoxes = 5 // boxes in a row
	longRun  = 5 // so many pages without a pointer are not drawn one by one
)

// box is what is drawn of a page, or of a run of pages.
type box struct{ letters, name, arrow, events, bytes string }

func (d Diagram) boxes() (boxes []box) {
	for i := 0; i < len(d.Pages); i++ {
		run := i
		for run < len(d.Pages) && d.Pages[run].Letters() == "" && d.Pages[run].Link == "" {
			run++
		}
		if run-i >= longRun {
			boxes = append(boxes, boxOf(d.Pages[i]), many(d.Pages[i+1:run-1]))
			i = run - 1
		}
		boxes = append(boxes, boxOf(d.Pages[i]))
		if i == 0 { // outside of the ring
			boxes[0].arrow = "   "
		}
	}
	return boxes
}

func boxOf(p PageState) box {
	b := box{
		letters: p.Letters(), name: fmt.Sprintf(" page %d", p.ID), arrow: "-->",
		events: fmt.Sprintf("%d events", p.Entries), bytes: fmt.Sprintf("%d/%d B", p.Committed, p.Write),
	}
	if p.Link != "" {
		b.arrow = "-" + strings.ToUpper(p.Link[:1]) + ">"
	}
	return b
}

// many is a box for pages that are not drawn.
func many(pages []PageState) box {
	var events, committed int
	for _, p := range pages {
		events += p.Entries
		committed += p.Committed
	}
	return box{
		name: fmt.Sprintf(" %d more", len(pages)), arrow: "-->",
		events: fmt.Sprintf("%d events", events), bytes: fmt.Sprintf("%d B", committed),
	}
}

// Letters gives the letters of the pointers that are on the page.
func (p PageState) Letters() string {
	letters := ""
	for _, m := range []struct {
		on     bool
		letter string
	}{{p.Reader, "R"}, {p.Head, "H"}, {p.Commit, "C"}, {p.Tail, "T"}} {
		if m.on {
			letters += m.letter
		}
	}
	return letters
}
