package ringbuf

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// PageHeaderSize is the size of a sub-buffer's header: a 64-bit time stamp and
// a 64-bit commit word.
//
// Kernel: struct buffer_data_page, kernel/trace/ring_buffer.c.
const PageHeaderSize = 16

// Flags in the commit word of a page image.
const (
	missedEvents = 1 << 31 // events were lost just before this page
	missedStored = 1 << 30 // their number follows the data, 64 bits
	missedMask   = missedEvents | missedStored

	// extended is missedEvents as it is on a sub-buffer that a process has mapped: there the
	// kernel adds it as a signed number.
	extended = -missedEvents & (1<<64 - 1)

	missedCountSize = 8
)

func putPageHeader(image []byte, stamp, commit uint64) {
	binary.LittleEndian.PutUint64(image, stamp)
	binary.LittleEndian.PutUint64(image[8:], commit)
}

// A PageReader decodes one page image as per_cpu/cpuN/trace_pipe_raw gives it.
// It shares nothing with the code that writes pages. It stays inside of the
// image whatever the image holds, and every call of Next moves it forward.
type PageReader struct {
	page   []byte // header included
	end    int    // page offset where the data ends
	off    int    // page offset of the next item
	stamp  uint64 // of the page
	now    uint64 // time so far
	prefix uint8  // type_len of the item before, if it was a time extend or stamp

	commit uint64
	err    error
}

// PageEvent is one item of a page: a data event, a discarded event, or the time
// extend or stamp in front of one.
type PageEvent struct {
	Offset, Size int    // on the page, its header included; of the item with its own header
	TypeLen      uint8  // as stored
	Time         uint64 // of the event, or after a time extend or stamp
	Delta        uint64 // as stored: 27 bits, of time extends and stamps 59
	Data         []byte // payload of a data event as stored (a multiple of 4), nil otherwise
	Absolute     bool   // the item before is the absolute stamp that belongs to it
	Extended     bool   // the item before is the time extend that belongs to it
}

// IsData reports whether the item is an event that readers see.
func (e PageEvent) IsData() bool { return e.TypeLen <= TypeDataMax }

// ReadPageImage starts to decode a page image, which the reader keeps and does
// not change. The error names what is impossible in the page header.
func ReadPageImage(page []byte) (*PageReader, error) {
	r := new(PageReader)
	if err := r.Reset(page); err != nil {
		return nil, err
	}
	return r, nil
}

// Reset starts on another page, so that one PageReader serves a whole capture.
func (r *PageReader) Reset(page []byte) error {
	*r = PageReader{}
	if len(page) < PageHeaderSize {
		return fmt.Errorf("ringbuf: page of %d bytes is shorter than its header", len(page))
	}
	stamp, commit := binary.LittleEndian.Uint64(page), binary.LittleEndian.Uint64(page[8:])
	if commit>>31 == extended>>31 {
		commit &= 1<<32 - 1
	}
	size := commit &^ missedMask
	switch capacity := uint64(len(page) - PageHeaderSize); {
	case size > capacity:
		return fmt.Errorf("ringbuf: offset 8: commit word %#x has %d bytes on a page of %d", commit, size, capacity)
	case size%alignment != 0:
		return fmt.Errorf("ringbuf: offset 8: commit word %#x is no multiple of 4", commit)
	case commit&missedMask == missedStored:
		return fmt.Errorf("ringbuf: offset 8: commit word %#x has a count of missed events but none missed", commit)
	case commit&missedStored != 0 && capacity-size < missedCountSize:
		return fmt.Errorf("ringbuf: offset 8: commit word %#x leaves no room for the count of missed events", commit)
	}
	*r = PageReader{
		page: page, off: PageHeaderSize, end: PageHeaderSize + int(size),
		stamp: stamp, now: stamp, commit: commit,
	}
	return nil
}

// Next returns the next item of the page. It returns false at the end of the
// page, or when the rest cannot be read; then Err says why.
//
// A discarded event does not move time forward, even though it keeps a delta;
// the kernel's own readers do the same.
//
// Kernel: rb_update_read_stamp, rb_buffer_peek, kernel/trace/ring_buffer.c.
func (r *PageReader) Next() (PageEvent, bool) {
	if at, head, ok := r.short(); ok {
		return PageEvent{
			Offset: at, Size: r.off - at, TypeLen: uint8(head & 31),
			Time: r.now, Delta: uint64(head >> 5), Data: r.page[at+headerSize : r.off : r.off],
		}, true
	}
	return r.next()
}

// NextData is Next for callers that want only the time and payload of data
// events: it skips everything else.
func (r *PageReader) NextData() (time uint64, data []byte, ok bool) {
	for {
		if at, _, ok := r.short(); ok {
			return r.now, r.page[at+headerSize : r.off : r.off], true
		}
		switch e, ok := r.next(); {
		case !ok:
			return 0, nil, false
		case e.IsData():
			return e.Time, e.Data, true
		}
	}
}

// AppendData appends the data events that are left of the page, as entries of cpu.
func (r *PageReader) AppendData(dst []Entry, cpu int) []Entry {
	n := len(dst)
	dst = slices.Grow(dst, (r.end-r.off)/minEventSize)
	dst = dst[:cap(dst)]
	for {
		off, now, page := r.off, r.now, r.page[:r.end]
		for r.prefix == 0 && r.err == nil && len(page)-off >= minEventSize { // as short
			head := binary.LittleEndian.Uint32(page[off:])
			end := off + headerSize + alignment*int(head&31)
			if uint8(head&31)-1 >= TypeDataMax || end > len(page) {
				break
			}
			now += uint64(head >> 5)
			e := &dst[n]
			e.CPU, e.Time, e.Data, e.Lost = cpu, now, page[off+headerSize:end:end], 0
			n++
			off = end
		}
		r.off, r.now = off, now
		time, data, ok := r.NextData()
		if !ok {
			return dst[:n]
		}
		dst[n] = Entry{CPU: cpu, Time: time, Data: data}
		n++
	}
}

// short does what next does for a data event that has no length word and no
// time extend or stamp before it, in half the time. If ok is false, it has done
// nothing.
func (r *PageReader) short() (at int, head uint32, ok bool) {
	at = r.off
	if r.end-at < minEventSize || r.prefix != 0 || r.err != nil {
		return at, 0, false
	}
	head = binary.LittleEndian.Uint32(r.page[at:])
	size := headerSize + alignment*int(head&31)
	if uint8(head&31)-1 >= TypeDataMax || size > r.end-at {
		return at, head, false
	}
	r.now += uint64(head >> 5)
	r.off = at + size
	return at, head, true
}

func (r *PageReader) next() (PageEvent, bool) {
	if r.err != nil || r.off >= r.end {
		if r.err == nil && r.prefix != 0 {
			return r.fail(r.off-stampSize, "a time extend or stamp without an event")
		}
		return PageEvent{}, false
	}
	it, fault := decodeItem(r.page, r.off, r.end)
	if fault != "" {
		return r.fail(r.off, fault)
	}
	e := PageEvent{
		Offset: r.off, Size: it.size, TypeLen: it.typeLen, Delta: it.delta,
		Absolute: r.prefix == TypeTimeStamp, Extended: r.prefix == TypeTimeExtend,
	}
	if it.typeLen >= TypeTimeExtend && r.prefix != 0 {
		return r.fail(r.off, "two time extends or stamps for one event")
	}
	r.prefix = 0
	switch {
	case it.typeLen == TypeTimeStamp:
		stamp := fixAbsolute(it.delta, r.now)
		if stamp < r.now {
			return r.fail(r.off, "an absolute stamp before the time so far")
		}
		r.now, r.prefix = stamp, it.typeLen
	case it.typeLen == TypeTimeExtend:
		r.now, r.prefix = r.now+it.delta, it.typeLen
	case it.typeLen <= TypeDataMax:
		r.now += it.delta
		e.Data = r.page[it.data : r.off+it.size : r.off+it.size]
	}
	e.Time = r.now
	r.off += it.size
	return e, true
}

func (r *PageReader) fail(off int, fault string) (PageEvent, bool) {
	r.err = fmt.Errorf("ringbuf: page offset %d: %s", off, fault)
	return PageEvent{}, false
}

// Err tells why Next stopped before the end of the data; it names the offset.
func (r *PageReader) Err() error { return r.err }

// Time is the page's time stamp.
func (r *PageReader) Time() uint64 { return r.stamp }

// Commit is the number of bytes of data on the page.
func (r *PageReader) Commit() int { return r.end - PageHeaderSize }

// Missed tells whether events were lost just before this page, and how many if
// the page has room for the number.
func (r *PageReader) Missed() (missed bool, count uint64, known bool) {
	if r.commit&missedEvents == 0 {
		return false, 0, false
	}
	if r.commit&missedStored == 0 {
		return true, 0, false
	}
	return true, binary.LittleEndian.Uint64(r.page[r.end:]), true
}

// MarkMissed returns a copy of a page image that says that an unknown number of
// events was lost just before the page.
func MarkMissed(image []byte) ([]byte, error) {
	r, err := ReadPageImage(image)
	if err != nil {
		return nil, err
	}
	image = slices.Clone(image)
	if r.commit&missedStored != 0 {
		clear(image[r.end : r.end+missedCountSize])
	}
	putPageHeader(image, r.stamp, uint64(r.Commit())|missedEvents)
	return image, nil
}
