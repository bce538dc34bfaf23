package tracedat

import (
	"io"
	"slices"
)

// Pages gives the pages of a CPU as the kernel wrote them, one after the other, each of
// SubbufSize bytes. They are in the file's byte order, see Canonical. Each reader is
// independent of the others. It is nil if the buffer has no such CPU.
func (f *File) Pages(b *Buffer, cpu int) io.Reader {
	for _, d := range b.CPUs {
		if d.CPU != cpu {
			continue
		}
		if d.packed && d.Size > 0 {
			return newChunks(f, d.Offset, d.Size)
		}
		return io.NewSectionReader(f.src, d.Offset, d.Size)
	}
	return nil
}

// Text gives the text of a buffer that has no pages.
func (f *File) Text(b *Buffer) io.Reader {
	switch {
	case b.Text == nil:
		return nil
	case b.Text.packed:
		return newChunks(f, b.Text.Offset, b.Text.Size)
	}
	return io.NewSectionReader(f.src, b.Text.Offset, b.Text.Size)
}

// chunks unpacks a row of chunks: their number (u32), then each chunk with its packed
// and its unpacked size in front. It holds one chunk at a time.
type chunks struct {
	f       *File
	in      cursor
	started bool
	count   uint32
	chunk   []byte // the memory of data
	data    []byte // the part of the present chunk that was not read yet
	err     error
}

// newChunks reads the row at offset. The size does not include the number in front.
func newChunks(f *File, offset, size int64) *chunks {
	return &chunks{f: f, in: cursor{src: f.src, pos: offset, end: min(offset+4+size, f.size), order: f.Order, reuse: true}}
}

// Read implements io.Reader.
func (c *chunks) Read(b []byte) (int, error) {
	if _, err := c.Peek(1); err != nil {
		return 0, err
	}
	n := copy(b, c.data)
	c.data = c.data[n:]
	return n, nil
}

// Peek shows the next n bytes. If there are fewer, it shows these, and the error says
// why. They are valid until the next call.
func (c *chunks) Peek(n int) ([]byte, error) {
	for len(c.data) < n && c.err == nil {
		rest := slices.Clone(c.data)
		if c.err = c.next(); c.err == nil && len(rest) > 0 {
			c.data = append(rest, c.data...)
		}
		if c.err != nil { // gives the memory back: a file may have thousands of CPUs
			c.chunk, c.in.mem = nil, nil
		}
	}
	if len(c.data) < n {
		return c.data, c.err
	}
	return c.data[:n], nil
}

// Discard passes over the next n bytes.
func (c *chunks) Discard(n int) (int, error) {
	data, err := c.Peek(n)
	c.data = c.data[len(data):]
	return len(data), err
}

func (c *chunks) next() error {
	in := &c.in
	if !c.started {
		c.count = in.u32("the number of chunks")
		c.started = true
	}
	if c.count == 0 && in.err == nil {
		return io.EOF
	}
	at := in.pos
	packed, size := in.u32("the packed size of a chunk"), in.u32("the unpacked size of a chunk")
	if size > maxChunk || packed > maxChunk {
		in.fail(at, "a chunk of %d bytes, packed %d; at most %d are read", size, packed, maxChunk)
	}
	data := in.bytes(uint64(packed), "a chunk")
	if in.err != nil {
		return in.err
	}
	var err error
	if c.chunk, err = c.f.unpack(c.chunk, data, int(size)); err != nil {
		return &Error{Offset: at + 8, Packed: -1, What: "unpacking pages", Err: err}
	}
	c.data = c.chunk
	c.count--
	return nil
}

// held is the most memory in bytes that a reader of the pages of a CPU holds at a time.
func (f *File) held(d CPUData) int64 {
	n := int64(readAhead)
	if !f.Canonical() {
		n += int64(f.SubbufSize + f.CanonicalSize())
	}
	if d.packed && d.Size > 0 {
		packed, size := f.largestChunk(d)
		n += packed + 2*size + zstdBlock // a page may begin in one chunk and end in the next
	}
	return n
}

// largestChunk looks at the head of each chunk for the largest sizes. It ignores
// errors; they are found again when the chunks are read.
func (f *File) largestChunk(d CPUData) (packed, size int64) {
	var head [8]byte
	at, end := d.Offset+4, min(d.Offset+4+d.Size, f.size)
	for at+int64(len(head)) <= end {
		if _, err := f.src.ReadAt(head[:], at); err != nil {
			break
		}
		p, s := int64(f.Order.Uint32(head[:])), int64(f.Order.Uint32(head[4:]))
		if p > maxChunk || s > maxChunk {
			break
		}
		packed, size = max(packed, p), max(size, s)
		at += int64(len(head)) + p
	}
	return packed, size
}

// Sources gives the buffers of a file in the form that Write takes.
func (f *File) Sources() []Source {
	var list []Source
	for i := range f.Buffers {
		b := &f.Buffers[i]
		s := Source{Name: b.Name, Clock: b.Clock, Text: f.Text(b)}
		for _, d := range b.CPUs {
			s.CPUs = append(s.CPUs, CPUPages{d.CPU, f.CanonicalPages(b, d.CPU)})
		}
		list = append(list, s)
	}
	return list
}
