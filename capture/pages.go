package capture

import (
	"errors"
	"fmt"
	"io"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// cpuPages reads the records of one CPU from its pages.
type cpuPages struct {
	f           *folder
	cpu         int
	file, shown string
	in          *stream
	off         int64 // where page lies in the file
	loaded      bool  // a page was read
	open        bool  // page has more events
	page        ringbuf.PageReader
	now         uint64

	rec   record.Record
	stack []uint64
	done  bool
}

// advance puts the next record into rec, or sets done.
func (c *cpuPages) advance() error {
	for {
		e, lost, err := c.item()
		if err != nil || lost || c.done {
			return err
		}
		err = c.decode(e)
		if err != nil && c.f.opt.KeepGoing { // the page itself is sound
			c.f.info.skip(c.fault(err), 1, uint64(e.Size), 0)
			continue
		}
		if err != nil {
			return c.fault(err)
		}
		return nil
	}
}

// item gives the next event as it lies on its page. With lost there is no event but a
// gap, which is in rec. At the end, item sets done.
func (c *cpuPages) item() (e ringbuf.PageEvent, lost bool, err error) {
	for !c.done {
		if !c.open {
			if lost, err = c.load(); err != nil || lost {
				return e, lost, err
			}
			continue
		}
		e, ok := c.page.Next()
		switch {
		case ok && e.IsData():
			return e, false, nil
		case ok:
			continue
		}
		c.open = false
		if err := c.page.Err(); err != nil {
			if lost, err := c.damaged(err); err != nil || lost {
				return e, lost, err
			}
		}
	}
	return e, false, nil
}

// load reads the next page. lost reports that there is a gap before it, which is then
// in rec.
func (c *cpuPages) load() (lost bool, err error) {
	size := c.f.info.SubbufSize
	if c.loaded {
		c.off += int64(size)
	}
	c.loaded = true
	image, err := c.in.page(size)
	switch {
	case errors.Is(err, io.EOF):
		c.done = true
		return false, nil
	case err == io.ErrUnexpectedEOF:
		c.done = true
		_, err = c.damaged(fmt.Errorf("the file ends %d bytes into a page of %d", len(image), size))
		return false, err
	case err != nil:
		c.done = true
		if c.f.opt.KeepGoing && !c.f.stopped() {
			c.f.info.skip(err, 0, uint64(len(image)), 0)
			return false, nil
		}
		return false, readFault(c.shown, err)
	}
	if err := c.page.Reset(image); err != nil {
		return c.damaged(err)
	}
	c.open = true
	c.now = max(c.now, c.page.Time())
	if missed, count, known := c.page.Missed(); missed {
		if !known {
			count = record.LostUnknown
		}
		c.lose(count)
		return true, nil
	}
	return false, nil
}

// lose stores a gap in rec.
func (c *cpuPages) lose(count uint64) {
	c.rec = record.Record{Kind: record.Lost, CPU: c.cpu, Time: c.now, Count: count}
}

// damaged deals with a page that cannot be read. Without KeepGoing it ends the capture
// with an error. With KeepGoing the rest of the page becomes a gap of unknown size, and
// lost reports that the gap is in rec.
func (c *cpuPages) damaged(err error) (lost bool, _ error) {
	at := c.fault(err)
	if !c.f.opt.KeepGoing {
		return false, at
	}
	c.open = false
	c.f.info.skip(at, 0, 0, 1)
	if c.done {
		return false, nil
	}
	c.lose(record.LostUnknown)
	return true, nil
}

// fault makes an Error about the page; err tells the offset within the page.
func (c *cpuPages) fault(err error) *Error {
	return &Error{File: c.shown, Offset: c.off, What: "bad page", Err: err}
}

// decode makes an event of the page into a record in rec.
func (c *cpuPages) decode(e ringbuf.PageEvent) error {
	if len(e.Data) < event.CommonSize {
		return fmt.Errorf("page offset %d: a record of %d bytes is shorter than its common header", e.Offset, len(e.Data))
	}
	common := event.ParseCommon(e.Data)
	var k recordKind
	if int(common.Type) < len(c.f.kinds) {
		k = c.f.kinds[common.Type]
	}
	if k.typ == nil {
		hint := ""
		if c.f.formats.partial {
			hint = ": the folder has no formats_all.txt, only formats of its own; --kernel DIR names the folder of its kernel"
		}
		return fmt.Errorf("page offset %d: no format has the event id %d%s", e.Offset, common.Type, hint)
	}
	c.now = max(c.now, e.Time)
	c.rec = record.Record{Kind: k.kind, CPU: c.cpu, Time: c.now, Common: common, Type: k.typ, Data: e.Data}
	if k.kind == record.Event {
		if len(e.Data) < k.least {
			return fmt.Errorf("page offset %d: a record of %d bytes is too short for %s", e.Offset, len(e.Data), k.typ.Name)
		}
		return nil
	}
	if err := c.addresses(e.Data, k); err != nil {
		return fmt.Errorf("page offset %d: %w", e.Offset, err)
	}
	return nil
}

// addresses reads the stack of a kernel_stack (counted) or user_stack record (up to
// its first zero).
//
// Kernel: struct stack_entry and struct userstack_entry, kernel/trace/trace_entries.h.
func (c *cpuPages) addresses(data []byte, k recordKind) error {
	at := k.list.Offset
	if at > len(data) || k.size != nil && len(data) < k.size.Offset+k.size.Size {
		return fmt.Errorf("a %s record of %d bytes has no room for its fields", k.typ.Name, len(data))
	}
	long := 8
	if k.list.ElemSize() == 4 { // of a 32-bit machine
		long = 4
	}
	n := (len(data) - at) / long
	if k.size != nil {
		size := k.size.Int(data)
		if size < 0 || size > int64(n) {
			return fmt.Errorf("a %s record of %d bytes cannot have %d frames", k.typ.Name, len(data), size)
		}
		n = int(size)
	} else {
		n = min(n, k.list.Size/long)
	}
	c.stack = c.stack[:0]
	for i := range n {
		addr := uint64(0)
		if off := at + long*i; long == 8 {
			addr = word(data[off:])
		} else {
			addr = (&event.Field{Offset: off, Size: long}).Uint(data)
		}
		if addr == 0 && k.size == nil {
			break
		}
		c.stack = append(c.stack, addr)
	}
	c.rec.Stack = c.stack
	return nil
}

// word reads a little-endian 64-bit number.
func word(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// putWord is the inverse of word.
func putWord(b []byte, v uint64) {
	_ = b[7]
	for i := range 8 {
		b[i] = byte(v >> (8 * i))
	}
}
