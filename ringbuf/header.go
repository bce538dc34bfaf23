package ringbuf

import "encoding/binary"

// The values of type_len, the low five bits of an event header.
//
// Kernel: enum ring_buffer_type, include/linux/ring_buffer.h.
const (
	TypeDataMax    = 28 // 1…28: data of 4·type_len bytes; 0: the length is in a word of its own
	TypePadding    = 29 // delta 0: nothing more on this page; otherwise a discarded event
	TypeTimeExtend = 30 // 59 bits to be added to the time so far
	TypeTimeStamp  = 31 // the low 59 bits of an absolute time
)

const (
	headerSize   = 4   // of every event: type_len in 5 bits, time_delta in 27
	lengthWord   = 4   // array[0] of a long event; counts itself
	stampSize    = 8   // of a time extend or an absolute stamp
	minEventSize = 8   // header and one word: the least an event takes
	alignment    = 4   // of every event
	maxSmallData = 112 // RB_MAX_SMALL_DATA: more needs a length word

	deltaBits = 27
	deltaMask = 1<<deltaBits - 1
	stampBits = 59
	stampMask = 1<<stampBits - 1
)

// EventSize gives the bytes that an event with length bytes of payload takes
// in a sub-buffer when it needs no time extend: 4 bytes of header, a length
// word above 112 bytes, the payload (at least 1) rounded up to 4. A sum of 12
// becomes 16, so that a discarded event could hold an 8-byte time extend and
// an 8-byte padding.
//
// Kernel: rb_calculate_event_length, kernel/trace/ring_buffer.c.
func EventSize(length int) int {
	if length == 0 {
		length = 1
	}
	if length > maxSmallData {
		length += lengthWord
	}
	size := (length + headerSize + alignment - 1) &^ (alignment - 1)
	if size == stampSize+alignment {
		size += alignment
	}
	return size
}

func putHeader(at []byte, typeLen uint8, delta uint64) {
	putWord(at, uint32(typeLen)|uint32(delta)<<5)
}

func putWord(at []byte, word uint32) { binary.LittleEndian.PutUint32(at, word) }

func word(data []byte, off int) uint32 {
	return binary.LittleEndian.Uint32(data[off:])
}

// fixAbsolute completes an absolute stamp, of which only 59 bits are stored: it
// takes the upper five bits from an earlier time, and adds one to them if the
// lower bits have wrapped since.
//
// Kernel: rb_fix_abs_ts, kernel/trace/ring_buffer.c.
func fixAbsolute(stamp, earlier uint64) uint64 {
	if high := earlier &^ stampMask; high != 0 {
		stamp |= high
		if stamp < earlier {
			stamp += 1 << stampBits
		}
	}
	return stamp
}

// item is one thing on a page: a data event, a discarded one, a time extend or
// an absolute stamp.
type item struct {
	typeLen uint8
	delta   uint64 // time_delta; of a time extend or stamp all 59 bits
	size    int    // with its header
	data    int    // offset of the payload; data events only
}

// decodeItem reads the item at off of the first end bytes of data. It touches
// nothing at or after end. The string names what is impossible; it is empty if
// nothing is.
//
// Kernel: rb_event_length, kernel/trace/ring_buffer.c.
func decodeItem(data []byte, off, end int) (it item, fault string) {
	if end-off < headerSize {
		return it, "no room for an event header"
	}
	head := word(data, off)
	it.typeLen, it.delta = uint8(head&31), uint64(head>>5)
	if it.typeLen == TypePadding && it.delta == 0 {
		it.size = end - off
		return it, ""
	}
	if end-off < minEventSize {
		return it, "no room for the word after an event header"
	}
	size := uint64(minEventSize)
	switch {
	case it.typeLen >= TypeTimeExtend:
		it.delta |= uint64(word(data, off+headerSize)) << deltaBits
	case it.typeLen == TypePadding:
		size = headerSize + uint64(word(data, off+headerSize))
	case it.typeLen == 0:
		it.data = off + headerSize + lengthWord
		size = headerSize + uint64(word(data, off+headerSize))
		if size < headerSize+lengthWord+alignment {
			return it, "a length word that leaves no data"
		}
	default:
		it.data = off + headerSize
		size = headerSize + alignment*uint64(it.typeLen)
	}
	switch {
	case size < minEventSize:
		return it, "an event shorter than 8 bytes"
	case size%alignment != 0:
		return it, "a length that is no multiple of 4"
	case size > uint64(end-off):
		return it, "an event that runs past the committed data"
	}
	it.size = int(size)
	return it, ""
}
