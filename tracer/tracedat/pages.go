package tracedat

import (
	"io"
)

// Pages gives the pages of a CPU of a buffer as the kernel wrote them, one after the
// other, each of SubbufSize bytes. They are in the file's byte order; see Canonical.
// The reader is independent of others. nil: the buffer has no such CPU.
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

// chunks unpacks a row of them: u32 how many, and each with its packed and unpacked
// size. One is held at a time.
type chunks struct {
	in      cursor
	room    int64
	started bool
	count   uint32
	chunk   []byte // the present one
	data    []byte // what is left of it
	err     error
	unpacker
}

// newChunks reads the row at offset, whose size does not count the number in front.
func newChunks(f *File, offset, size int64) *chunks {
	c := &chunks{
		in:       cursor{src: f.src, pos: offset, end: min(offset+4+size, f.size), order: f.Order, reuse: true},
		unpacker: unpacker{name: f.Compression},
	}
	c.in.room = &c.room
	return c
}

func (c *chunks) Read(b []byte) (int, error) {
	for len(c.data) == 0 {
		if c.err == nil {
			c.err = c.next()
		}
		if c.err != nil {
			c.close()
			return 0, c.err
		}
	}
	n := copy(b, c.data)
	c.data = c.data[n:]
	return n, nil
}

func (c *chunks) next() error {
	in := &c.in
	c.room = maxChunk
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
	if c.chunk, err = c.unpack(c.chunk[:0], data, int(size)); err != nil {
		return &Error{Offset: at + 8, Packed: -1, What: "unpacking pages", Err: err}
	}
	c.data = c.chunk
	c.count--
	return nil
}

// Sources are the buffers of a file as Write takes them.
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
