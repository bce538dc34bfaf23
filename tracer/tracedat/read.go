package tracedat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ftracelab/budget"
)

// Open opens the file path; Close closes it. The memory that the File takes is charged
// to the budget; nil is a budget of the default size.
func Open(path string, memory *budget.Budget) (*File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		err = fmt.Errorf("%s: not a regular file, and it has to be read at any place", path)
	}
	if err != nil {
		return nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err = in.Stat()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	f, err := New(in, info.Size(), memory)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), in.Close())
	}
	f.close = in.Close
	return f, nil
}

// Is reports whether a file that begins with head is a trace.dat.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// New reads a file of size bytes. It keeps src for the pages, so src must not change
// while the File is in use. The memory that the File takes is charged to the budget;
// nil is a budget of the default size.
func New(src io.ReaderAt, size int64, memory *budget.Budget) (*File, error) {
	memory = budget.OrDefault(memory)
	f := &File{src: src, size: size, Compression: "none", memory: memory}
	c := &cursor{src: src, end: size, order: binary.LittleEndian, memory: memory}
	f.readInitial(c)
	if c.err != nil {
		return nil, c.err
	}
	var err error
	if f.Version == Version6 {
		err = f.read6(c)
	} else {
		err = f.read7(c)
	}
	if err != nil {
		return nil, err
	}
	return f, f.check()
}

// readInitial reads the first bytes, up to where the versions differ.
func (f *File) readInitial(c *cursor) {
	c.expect(magic, "the magic of trace.dat")
	at := c.pos
	switch v := c.str("the version"); {
	case c.err != nil:
	case v == "6":
		f.Version = Version6
	case v == "7":
		f.Version = Version7
	default:
		c.fail(at, "version %q; 6 and 7 are read", v)
	}
	at = c.pos
	switch v := c.u8("the byte order"); v {
	case 0:
		f.Order = binary.LittleEndian
	case 1:
		f.Order = binary.BigEndian
	default:
		c.fail(at, "byte order %d; 0 is little, 1 big endian", v)
		f.Order = binary.LittleEndian
	}
	c.order = f.Order
	at = c.pos
	if f.LongSize = int(c.u8("the size of a long")); f.LongSize != 4 && f.LongSize != 8 {
		c.fail(at, "a long of %d bytes; 4 and 8 are read", f.LongSize)
	}
	at = c.pos
	size := c.u32("the page size")
	if size == 0 || size > maxPage {
		c.fail(at, "a page size of %d", size)
	}
	f.PageSize = int(size)
}

// check checks what can be checked only when everything is read: the size of
// sub-buffers, and where the pages are.
func (f *File) check() error {
	size, err := subbufSize(f.HeaderPage)
	if err != nil {
		return &Error{Packed: -1, What: "header_page", Err: err}
	}
	f.SubbufSize = size
	for _, b := range f.Buffers {
		for _, d := range b.CPUs {
			if d.Offset < 0 || d.Size < 0 || d.Size > f.size || d.Offset > f.size-d.Size {
				return fault(d.Offset, "the pages of CPU %d of buffer %q, %d bytes, are not in the file of %d bytes", d.CPU, b.Name, d.Size, f.size)
			}
		}
	}
	return nil
}

// subbufSize is the size of a sub-buffer according to events/header_page: the offset
// plus the size of its field data.
//
// Kernel: ring_buffer_print_page_header, kernel/trace/ring_buffer.c.
func subbufSize(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "char data;") {
			continue
		}
		offset, ok1 := numberAfter(line, "offset:")
		size, ok2 := numberAfter(line, "size:")
		if !ok1 || !ok2 || offset+size > maxPage || offset != 12 && offset != 16 || size == 0 {
			return 0, fmt.Errorf("impossible line %q", strings.TrimSpace(line))
		}
		return offset + size, nil
	}
	return 0, errors.New("has no field data")
}

// numberAfter reads the digits behind key.
func numberAfter(line, key string) (n int, ok bool) {
	_, rest, _ := strings.Cut(line, key)
	for _, r := range rest {
		if r < '0' || r > '9' || n > maxPage {
			break
		}
		n, ok = 10*n+int(r-'0'), true
	}
	return n, ok
}
