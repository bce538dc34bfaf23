package ringbuf

import (
	"fmt"
	"strings"
)

// DumpPage shows a page image as text for people: a line for the page header
// and one for every item, each with its offset on the page, its size, what its
// header says, its time, and the first bytes of its data. If a page cannot be
// decoded, it shows what comes before the fault, and then the fault.
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
