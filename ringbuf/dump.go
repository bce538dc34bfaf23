package ringbuf

import (
	"fmt"
	"strings"
)

// DumpPage shows a page image for the eye: a line for the page header and one
// for every item, each with its offset on the page, its size, what its header
// says, the time it has, and the first bytes of what it holds. Of a page that
// cannot be decoded it shows what comes before the fault, and the fault.
func DumpPage(image []byte) string {
	var s strings.Builder
	r, err := ReadPageImage(image)
	if err != nil {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&s, "0x%03x %4d page time_stamp=%d commit=%d", 0, PageHeaderSize, r.Time(), r.Commit())
	if missed, n, known := r.Missed(); known {
		fmt.Fprintf(&s, " missed=%d", n)
	} else if missed {
		s.WriteString(" missed")
	}
	s.WriteByte('\n')
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		fmt.Fprintf(&s, "0x%03x %4d %s\n", e.Offset, e.Size, e)
	}
	if err := r.Err(); err != nil {
		fmt.Fprintln(&s, err)
	}
	fmt.Fprintf(&s, "0x%03x %4d unused\n", PageHeaderSize+r.Commit(), len(image)-PageHeaderSize-r.Commit())
	return s.String()
}

// String shows the item without its place on the page.
func (e PageEvent) String() string {
	switch {
	case e.TypeLen == TypeTimeExtend:
		return fmt.Sprintf("time extend +%d = %d", e.Delta, e.Time)
	case e.TypeLen == TypeTimeStamp:
		return fmt.Sprintf("time stamp %d = %d", e.Delta, e.Time)
	case e.TypeLen == TypePadding:
		return fmt.Sprintf("padding +%d", e.Delta)
	}
	const show = 16
	data, more := e.Data, ""
	if len(data) > show {
		data, more = data[:show], " …"
	}
	return fmt.Sprintf("data[%d] type_len=%d +%d = %d: % x%s", len(e.Data), e.TypeLen, e.Delta, e.Time, data, more)
}

// PageState is one sub-buffer of a ring for drawing, see Buffer.State.
type PageState struct {
	Reader, Head, Commit, Tail bool // which of the pointers are on it
	Time                       uint64
	Committed, Write, Read     int // indexes into its data
	Entries                    int
}

// State shows the sub-buffers of cpu: the reader page, then the ring from its
// head on. It copies no data and changes nothing.
func (b *Buffer) State(cpu int) []PageState {
	c := b.cpus[cpu]
	list := make([]PageState, 0, c.nrPages+1)
	list = append(list, c.state(c.reader), c.state(c.head))
	for p := c.head.next; p != c.head; p = p.next {
		list = append(list, c.state(p))
	}
	return list
}

func (c *cpuBuffer) state(p *page) PageState {
	return PageState{
		Reader: p == c.reader, Head: p == c.head, Commit: p == c.commitPage, Tail: p == c.tail,
		Time: p.stamp, Committed: p.committed(), Write: p.write, Read: p.read, Entries: p.entries,
	}
}
