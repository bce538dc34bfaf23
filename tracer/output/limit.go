package output

// lineSize is the size of the kernel's line buffer. What is printed has to be shorter.
//
// Kernel: TRACE_SEQ_BUFFER_SIZE, include/linux/trace_seq.h.
const lineSize = 8156

const lineTooBig = "[LINE TOO BIG]\n"

// fits reports whether a piece of n bytes has room behind what was printed of the entry
// so far. The kernel leaves out a piece that has no room, and all pieces that follow
// it.
//
// Kernel: trace_seq_printf, kernel/trace/trace_seq.c.
func (p *Printer) fits(dst []byte, n int) bool {
	if p.full || len(dst)-p.start+n >= lineSize {
		p.full = true
		return false
	}
	return true
}

// endLine appends a newline if it fits.
func (p *Printer) endLine(dst []byte) []byte {
	if p.fits(dst, 1) {
		dst = append(dst, '\n')
	}
	return dst
}

// limit ends an entry that did not fit. It adds a remark if that has room.
//
// Kernel: s_show, kernel/trace/trace.c.
//
// Departure: the text of an event is not made of known pieces. It is cut at the end of
// the buffer, instead of in front of the first piece without room.
func (p *Printer) limit(dst []byte) []byte {
	if !p.full && len(dst)-p.start < lineSize {
		return dst
	}
	if len(dst)-p.start >= lineSize {
		dst = dst[:p.start+lineSize-1]
	}
	if len(dst)-p.start+len(lineTooBig) < lineSize {
		dst = append(dst, lineTooBig...)
	}
	return dst
}
