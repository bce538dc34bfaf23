package output

// lineSize is the size of the kernel's line buffer, which takes less than that.
//
// Kernel: TRACE_SEQ_BUFFER_SIZE, include/linux/trace_seq.h.
const lineSize = 8156

const lineTooBig = "[LINE TOO BIG]\n"

// fits says whether a piece of n bytes has room after what is there of the
// entry. The kernel leaves out a piece that has none and all that follow it.
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

// limit ends an entry that did not fit: with a remark, if there is room for that.
//
// Kernel: s_show, kernel/trace/trace.c.
//
// Departure: where the pieces are not known, as in the text of events, an entry
// is cut at the end of the buffer instead of before the first piece without room.
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
