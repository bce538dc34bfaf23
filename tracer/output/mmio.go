package output

import "strconv"

// What a driver did with the memory of a device.
//
// Kernel: enum mm_io_opcode, include/linux/mmiotrace.h.
const (
	mmioRead    = 1
	mmioWrite   = 2
	mmioMap     = 3
	mmioUnmap   = 4
	mmioUnknown = 5
)

// appendMMIO appends an entry in the form of the tracer mmiotrace, which heeds no
// options. It prints its own entries, and remarks (what was written to trace_marker);
// it leaves out all others.
//
// Kernel: mmio_print_line, kernel/trace/trace_mmiotrace.c.
func (p *Printer) appendMMIO(dst []byte, r *record) []byte {
	switch r.shape.kind {
	case mmioRW:
		return appendMMIOAccess(dst, r)
	case mmioMapping:
		switch r.u8(4) {
		case mmioMap:
			dst = appendStamp(append(dst, "MAP "...), r.Time)
			dst = strconv.AppendInt(append(dst, ' '), int64(int32(r.u32(3))), 10)
			for field := range 3 {
				dst = appendHex0x(append(dst, ' '), r.u64(field))
			}
			return append(dst, " 0x0 0\n"...)
		case mmioUnmap:
			dst = appendStamp(append(dst, "UNMAP "...), r.Time)
			dst = strconv.AppendInt(append(dst, ' '), int64(int32(r.u32(3))), 10)
			return append(dst, " 0x0 0\n"...)
		}
		return append(dst, "map what?\n"...)
	case printEntry:
		dst = append(appendStamp(append(dst, "MARK "...), r.Time), ' ')
		if msg := text(r.Data, r.shape.off[1]); p.fits(dst, len(msg)) {
			dst = append(dst, msg...)
		}
	}
	return dst
}

// Kernel: mmio_print_rw.
func appendMMIOAccess(dst []byte, r *record) []byte {
	op := r.u8(4)
	switch op {
	case mmioRead:
		dst = append(dst, "R "...)
	case mmioWrite:
		dst = append(dst, "W "...)
	case mmioUnknown:
		dst = append(dst, "UNKNOWN "...)
	default:
		return append(dst, "rw what?\n"...)
	}
	if op != mmioUnknown {
		dst = append(strconv.AppendUint(dst, r.u8(5), 10), ' ')
	}
	dst = append(appendStamp(dst, r.Time), ' ')
	dst = strconv.AppendInt(dst, int64(int32(r.u32(3))), 10)
	dst = append(appendHex0x(append(dst, ' '), r.u64(0)), ' ')
	if value := r.u64(1); op != mmioUnknown {
		dst = appendHex0x(dst, value)
	} else {
		// The first bytes of the instruction.
		dst = append(hexPadded(dst, value>>16&0xff, 2), ',')
		dst = append(hexPadded(dst, value>>8&0xff, 2), ',')
		dst = hexPadded(dst, value&0xff, 2)
	}
	dst = appendHex0x(append(dst, ' '), r.u64(2))
	return append(dst, " 0\n"...)
}

// appendStamp appends a time, given in nanoseconds, as seconds with six digits behind
// the point.
func appendStamp(dst []byte, time uint64) []byte {
	us := microseconds(time)
	return appendDigits(append(padded(dst, us/1e6, 0), '.'), uint32(us%1e6))
}

// appendHex0x appends a number as the kernel prints %#x; unlike C's, its 0 is 0x0.
func appendHex0x(dst []byte, v uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}
