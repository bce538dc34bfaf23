package tracedat

import (
	"bytes"
	"encoding/binary"
	"io"
)

// cursor reads a part of a file from its beginning on. The first error stays; after
// it all reads give zeros.
type cursor struct {
	src   io.ReaderAt
	pos   int64
	end   int64
	order binary.ByteOrder
	err   error

	// of something packed: where it is in the file
	packed bool
	at     int64

	room *int64 // what the file's parts may still take
	buf  [8]byte
}

// fail makes the cursor's error one about the byte at off.
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

func (c *cursor) fixed(n int, what string) []byte {
	b := c.buf[:n]
	clear(b)
	if c.err != nil {
		return b
	}
	if c.left() < int64(n) {
		c.fail(c.pos, "the file ends in %s", what)
		return b
	}
	if k, err := c.src.ReadAt(b, c.pos); k < n {
		clear(b)
		c.err = readFault(c.pos, err)
		return b
	}
	c.pos += int64(n)
	return b
}

func (c *cursor) u8(what string) uint8   { return c.fixed(1, what)[0] }
func (c *cursor) u16(what string) uint16 { return c.order.Uint16(c.fixed(2, what)) }
func (c *cursor) u32(what string) uint32 { return c.order.Uint32(c.fixed(4, what)) }
func (c *cursor) u64(what string) uint64 { return c.order.Uint64(c.fixed(8, what)) }

// bytes reads n bytes into memory of their own.
func (c *cursor) bytes(n uint64, what string) []byte {
	switch {
	case c.err != nil:
		return nil
	case n > uint64(c.left()):
		c.fail(c.pos, "%s of %d bytes, but only %d are left", what, n, c.left())
		return nil
	case n > maxPart || int64(n) > *c.room:
		c.fail(c.pos, "%s of %d bytes: all parts together may take %d MiB", what, n, maxMeta>>20)
		return nil
	}
	*c.room -= int64(n)
	b := make([]byte, n)
	if k, err := c.src.ReadAt(b, c.pos); k < len(b) {
		c.err = readFault(c.pos+int64(k), err)
		return nil
	}
	c.pos += int64(n)
	return b
}

// str reads a text that ends with a zero byte.
func (c *cursor) str(what string) string {
	if c.err != nil {
		return ""
	}
	start, text := c.pos, []byte(nil)
	for c.err == nil && len(text) <= maxName {
		var piece [64]byte
		n := int(min(int64(len(piece)), c.left()))
		if n == 0 {
			c.fail(start, "the file ends in %s", what)
			return ""
		}
		if k, err := c.src.ReadAt(piece[:n], c.pos); k < n {
			c.err = readFault(c.pos, err)
			return ""
		}
		if i := bytes.IndexByte(piece[:n], 0); i >= 0 {
			c.pos += int64(i) + 1
			return string(append(text, piece[:i]...))
		}
		c.pos += int64(n)
		text = append(text, piece[:n]...)
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

// count reads a number of things that take at least least bytes each.
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
