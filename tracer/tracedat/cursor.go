package tracedat

import (
	"bytes"
	"encoding/binary"
	"io"

	"ftracelab/budget"
)

// cursor reads a part of a file from its beginning on. It keeps the first error; after
// that, all reads give zeros.
type cursor struct {
	src   io.ReaderAt // nil: everything is in mem
	pos   int64
	end   int64
	order binary.ByteOrder
	err   error

	// mem holds the bytes that were read, beginning with the one at from. What the
	// method bytes returns lies in it, so it is not written to again; with reuse it is,
	// when more is read.
	mem   []byte
	from  int64
	reuse bool

	// packed says that mem was unpacked. Errors then tell where it is packed in the file.
	packed bool
	at     int64

	memory *budget.Budget // nil: what is read here has been charged before
}

// inMemory makes a cursor for data, which lies, or is packed, at offset at of the file.
func inMemory(data []byte, at int64, c *cursor) *cursor {
	return &cursor{mem: data, end: int64(len(data)), order: c.order, memory: c.memory, packed: true, at: at}
}

// readAhead is how many bytes are read at least, because the parts consist of many
// small pieces.
const readAhead = 16 << 10

// next gives the next n bytes and passes over them. The caller makes sure that there
// are so many. If reading fails, next returns nil and sets err.
func (c *cursor) next(n int64) []byte {
	off := c.pos - c.from
	if off < 0 || off+n > int64(len(c.mem)) {
		want := min(max(n, readAhead), c.left())
		if !c.reuse || int64(cap(c.mem)) < want {
			c.mem = make([]byte, want)
		}
		k, err := c.src.ReadAt(c.mem[:want], c.pos)
		c.mem, c.from, off = c.mem[:k], c.pos, 0
		if int64(k) < n {
			c.err = readFault(c.pos+int64(k), err)
			return nil
		}
	}
	c.pos += n
	return c.mem[off : off+n : off+n]
}

// fail sets the error, which is about the byte at off, unless there is one already.
func (c *cursor) fail(off int64, format string, args ...any) {
	if c.err == nil {
		e := fault(off, format, args...)
		if c.packed {
			e.Offset, e.Packed = c.at, off
		}
		c.err = e
	}
}

func (c *cursor) left() int64 { return c.end - c.pos }

var zeros [8]byte

func (c *cursor) fixed(n int64, what string) []byte {
	if c.err == nil && c.left() < n {
		c.fail(c.pos, "the file ends in %s", what)
	}
	if c.err == nil {
		if b := c.next(n); b != nil {
			return b
		}
	}
	return zeros[:n]
}

func (c *cursor) u8(what string) uint8   { return c.fixed(1, what)[0] }
func (c *cursor) u16(what string) uint16 { return c.order.Uint16(c.fixed(2, what)) }
func (c *cursor) u32(what string) uint32 { return c.order.Uint32(c.fixed(4, what)) }
func (c *cursor) u64(what string) uint64 { return c.order.Uint64(c.fixed(8, what)) }

// bytes reads n bytes. Nobody may change them.
func (c *cursor) bytes(n uint64, what string) []byte {
	switch {
	case c.err != nil:
		return nil
	case n > uint64(c.left()):
		c.fail(c.pos, "%s of %d bytes, but only %d are left", what, n, c.left())
		return nil
	case c.src == nil: // this memory was charged when the data was unpacked
	case !c.take(int64(n), what):
		return nil
	}
	return c.next(int64(n))
}

// take asks the budget for the memory of what is at the cursor.
func (c *cursor) take(n int64, what string) bool {
	if c.err == nil && c.memory != nil {
		if err := c.memory.Take(n, what); err != nil {
			c.fail(c.pos, "too large")
			c.err.(*Error).Err = err
		}
	}
	return c.err == nil
}

// str reads a text that ends at a zero byte.
func (c *cursor) str(what string) string {
	if c.err != nil {
		return ""
	}
	start, text := c.pos, []byte(nil)
	for c.err == nil && len(text) <= maxName {
		if c.left() == 0 {
			c.fail(start, "the file ends in %s", what)
			return ""
		}
		piece := c.next(min(64, c.left()))
		if i := bytes.IndexByte(piece, 0); i >= 0 {
			c.pos -= int64(len(piece) - i - 1)
			return string(append(text, piece[:i]...))
		}
		text = append(text, piece...)
	}
	c.fail(start, "%s is longer than %d bytes", what, maxName)
	return ""
}

// expect reads a fixed text.
func (c *cursor) expect(text, what string) {
	at := c.pos
	if got := c.bytes(uint64(len(text)), what); c.err == nil && string(got) != text {
		c.fail(at, "%s: %q instead of %q", what, got, text)
	}
}

// count reads the number of some items, each of which takes at least least bytes.
func (c *cursor) count(least int64, what string) int {
	at := c.pos
	n := int64(c.u32("the number of " + what))
	if c.err == nil && (n > maxItems || n*least > c.left()) {
		c.fail(at, "%d %s do not fit into what is left", n, what)
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}
