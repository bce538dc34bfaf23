package tracedat

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"

	"ftracelab/tracer/event"
)

// Canonical reports whether the pages come from a little-endian 64-bit machine. All
// other packages read only such pages.
func (f *File) Canonical() bool { return f.Order == binary.LittleEndian && f.dataOffset() == 16 }

// dataOffset is where the data of a page begins: behind a time of 64 bits and a long.
func (f *File) dataOffset() int {
	for line := range strings.Lines(string(f.HeaderPage)) {
		if strings.Contains(line, "char data;") {
			offset, _ := numberAfter(line, "offset:")
			return offset
		}
	}
	return 0
}

// CanonicalSize is the size of the pages that CanonicalPages gives. The head of a
// 32-bit machine's page is shorter, so the translated page is larger. It gets twice the
// size, so that the size stays a power of two.
func (f *File) CanonicalSize() int {
	if f.dataOffset() == 16 {
		return f.SubbufSize
	}
	return 2 * f.SubbufSize
}

// CanonicalHeaderPage is the header_page that goes with CanonicalPages.
func (f *File) CanonicalHeaderPage() []byte {
	if f.Canonical() {
		return f.HeaderPage
	}
	return HeaderPage(f.CanonicalSize())
}

// HeaderPage is the text of events/header_page of a little-endian 64-bit machine whose
// sub-buffers have size bytes.
//
// Kernel: ring_buffer_print_page_header, kernel/trace/ring_buffer.c.
func HeaderPage(size int) []byte {
	return fmt.Appendf(nil, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"+
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"+
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"+
		"\tfield: char data;\toffset:16;\tsize:%d;\tsigned:0;\n", size-16)
}

// CanonicalPages gives the pages of a CPU in the form of a little-endian 64-bit
// machine. The pages of other machines are translated: their heads, their events and,
// with the help of the formats, their records.
//
// Departure: in a file of a big-endian machine, the arguments of trace_printk and what
// was written to trace_marker_raw are not translated, because no format tells their
// types.
func (f *File) CanonicalPages(b *Buffer, cpu int) io.Reader {
	in := f.Pages(b, cpu)
	if in == nil || f.Canonical() {
		return in
	}
	return &translator{in: in, f: f, head: f.dataOffset()}
}

// allFields are the fields of all events by id, for translation. The records of an
// event whose format cannot be read are left as they are.
type allFields struct {
	once sync.Once
	byID map[uint16][]event.Field
	err  error
}

// fieldsCost is how many bytes of memory each byte of a format may take.
const fieldsCost = 6

// fields gives the fields of all events, and reads them the first time.
func (f *File) fields() (map[uint16][]event.Field, error) {
	a := &f.translated
	a.once.Do(func() { a.byID, a.err = f.readFields() })
	return a.byID, a.err
}

func (f *File) readFields() (map[uint16][]event.Field, error) {
	fields := map[uint16][]event.Field{}
	var failed error
	add := func(system string, formats [][]byte) {
		for _, text := range formats {
			if failed == nil {
				failed = f.memory.Take(fieldsCost*int64(len(text)), "the fields of all events")
			}
			if failed != nil {
				return
			}
			if t, err := event.ParseFormat(system, text); err == nil {
				fields[uint16(t.ID)] = append(append([]event.Field(nil), t.Common...), t.Fields...)
			}
		}
	}
	add("ftrace", f.Ftrace)
	for _, s := range f.Systems {
		add(s.Name, s.Formats)
	}
	return fields, failed
}

// translator translates the pages of a CPU, one after the other.
type translator struct {
	in     io.Reader
	f      *File
	fields map[uint16][]event.Field
	head   int // how many bytes the head of a page has
	from   []byte
	to     []byte
	left   []byte
	pages  int64
	err    error
}

func (t *translator) Read(b []byte) (int, error) {
	for len(t.left) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		if t.from == nil {
			if t.fields, t.err = t.f.fields(); t.err != nil {
				continue
			}
			t.from, t.to = make([]byte, t.f.SubbufSize), make([]byte, t.f.CanonicalSize())
		}
		if _, err := io.ReadFull(t.in, t.from); err != nil {
			t.err = err
			continue
		}
		if err := t.page(); err != nil {
			t.err = fmt.Errorf("tracedat: page %d: %w", t.pages, err)
			continue
		}
		t.pages++
		t.left = t.to
	}
	n := copy(b, t.left)
	t.left = t.left[n:]
	return n, nil
}

// Parts of the commit word of a page.
//
// Kernel: RB_MISSED_MASK, kernel/trace/ring_buffer.c.
const (
	commitMask   = 1<<27 - 1
	missedStored = 1 << 30
)

// page translates the page in from, and writes it to to.
func (t *translator) page() error {
	o, le := t.f.Order, binary.LittleEndian
	long := t.head - 8
	clear(t.to)
	le.PutUint64(t.to, o.Uint64(t.from))
	commit := t.long(t.from[8:], long)
	size := int(commit & commitMask)
	if size > len(t.from)-t.head || size%4 != 0 {
		return fmt.Errorf("%d bytes of data on a page of %d", size, len(t.from))
	}
	le.PutUint64(t.to[8:], commit)
	copy(t.to[16:], t.from[t.head:t.head+size])
	if end := t.head + size; commit&missedStored != 0 && end+long <= len(t.from) && 16+size+8 <= len(t.to) {
		le.PutUint64(t.to[16+size:], t.long(t.from[end:], long))
	}
	if o == le {
		return nil
	}
	return t.events(t.to[16 : 16+size])
}

func (t *translator) long(b []byte, size int) uint64 {
	if size == 4 {
		return uint64(t.f.Order.Uint32(b))
	}
	return t.f.Order.Uint64(b)
}

// events changes the byte order of the events of a big-endian page, in place.
func (t *translator) events(b []byte) error {
	be, le := binary.BigEndian, binary.LittleEndian
	for off := 0; off+4 <= len(b); {
		word := be.Uint32(b[off:])
		kind, delta := word>>27, word&(1<<27-1) // there, type_len is in the upper bits
		le.PutUint32(b[off:], kind|delta<<5)
		size, data := 0, off+4
		switch {
		case kind == 29 && delta == 0:
			return nil
		case kind >= 29 || kind == 0:
			if off+8 > len(b) {
				return fmt.Errorf("offset %d: no room for the word after an event header", off)
			}
			second := be.Uint32(b[off+4:])
			le.PutUint32(b[off+4:], second)
			if size, data = 8, off+8; kind < 30 {
				size = 4 + int(second)
			}
		default:
			size = 4 + 4*int(kind)
		}
		if size < 8 || size%4 != 0 || size > len(b)-off {
			return fmt.Errorf("offset %d: an event of %d bytes", off, size)
		}
		if kind <= 28 {
			t.record(b[data : off+size])
		}
		off += size
	}
	return nil
}

// record changes the byte order of the fields of a record.
func (t *translator) record(data []byte) {
	if len(data) < 2 {
		return
	}
	fields, known := t.fields[binary.BigEndian.Uint16(data)]
	if !known {
		reverse(data[:2]) // at least the id can be translated
		return
	}
	for i := range fields {
		f := &fields[i]
		end := min(f.Offset+f.Size, len(data))
		if f.Offset >= end && !f.OpenEnded() {
			continue
		}
		switch elem := f.ElemSize(); {
		case f.Dynamic():
			t.dynamic(data, f, elem)
		case f.OpenEnded() || f.IsArray() && f.Offset+f.Size < len(data) && i == len(fields)-1:
			reverseEach(data[min(f.Offset, len(data)):], elem) // an array that reaches to the end of the record
		default:
			reverseEach(data[f.Offset:end], elem)
		}
	}
}

// dynamic changes the byte order of a location word, and of the elements that it points
// to.
func (t *translator) dynamic(data []byte, f *event.Field, elem int) {
	if f.Offset+4 > len(data) {
		return
	}
	reverse(data[f.Offset : f.Offset+4])
	if f.IsText() {
		return
	}
	reverseEach(f.Bytes(data), elem)
}

func reverseEach(b []byte, size int) {
	if size != 2 && size != 4 && size != 8 {
		return
	}
	for ; len(b) >= size; b = b[size:] {
		reverse(b[:size])
	}
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// CanonicalMeta is the Meta that goes with CanonicalPages. The byte order of options
// that hold numbers is changed, except for those that describe a guest.
func (f *File) CanonicalMeta() *Meta {
	m := f.Meta
	m.HeaderPage = f.CanonicalHeaderPage()
	if f.Order == binary.LittleEndian {
		return &m
	}
	m.Options = nil
	for _, o := range f.Options {
		switch {
		case o.ID == OptionTraceID && len(o.Data) == 8:
			o.Data = append([]byte(nil), o.Data...)
			reverse(o.Data)
		case o.ID == OptionTSC2NSec && len(o.Data) == 16:
			o.Data = append([]byte(nil), o.Data...)
			reverse(o.Data[:4])
			reverse(o.Data[4:8])
			reverse(o.Data[8:])
		}
		m.Options = append(m.Options, o)
	}
	return &m
}
