package report

import (
	"errors"
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// witness re-creates the pages that the capture's own kernel wrote. It is independent
// of the designs: it writes what that kernel wrote (a stack_id where there was one),
// into sub-buffers of the size that the kernel had.
//
// It takes a page out of its buffer after the same number of records as the capture's
// reader did. A reader that is faster than the writer finds pages that are only partly
// full; what is written to them later becomes pages of their own. So each page is
// compared by itself, and a difference on one page has no effect on the next.
type witness struct {
	opt    *Options
	ids    recordIDs
	stacks *record.Stacks
	cpus   []*witnessCPU // by CPU; nil: the capture has no pages of it
	known  []bool        // by CPU: whether cpus is filled in
	page   []byte
	common [event.CommonSize]byte
}

// witnessCPU is the buffer of one CPU.
type witnessCPU struct {
	comparison
	cpu      int
	buf      *ringbuf.Buffer
	recorder *record.Recorder
	now      uint64 // the clock
	origin   *origin
	written  int // how many records were written since the last page was compared
	pending  int // how many bytes, at most, were written since the buffer was last emptied

	decode ringbuf.PageReader

	// About the page that is being compared:
	pieces int    // how many pages were taken out of the buffer for it
	same   int    // how many records are the same as in the capture
	bytes  int    // how many bytes of data were re-created
	what   string // what differs; empty: nothing so far
}

func newWitness(opt *Options) (*witness, error) {
	ids := namedIDs(opt.Types)
	full := record.Design{Name: "the capture's own", Kernel: record.FullStack, User: record.FullStack}
	stacks, err := record.NewStacks(full, record.RecordIDs(ids))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return &witness{opt: opt, ids: ids, stacks: stacks, page: make([]byte, opt.PagesSize)}, nil
}

// consume records a batch.
func (w *witness) consume(b *batch) error {
	for i := range b.records {
		r := &b.records[i]
		if r.Kind == record.Lost {
			continue
		}
		c, err := w.at(r.CPU)
		if c == nil && err == nil {
			continue
		}
		if err == nil {
			err = c.record(w, r)
		}
		if err != nil {
			return fmt.Errorf("report: cpu %d, page %d of the capture: %w", r.CPU, w.compared(r.CPU), err)
		}
	}
	return nil
}

// compared is the number of pages of a CPU that were compared; errors tell it.
func (w *witness) compared(cpu int) uint64 {
	if w.cpus[cpu] == nil {
		return 0
	}
	return w.cpus[cpu].compared
}

// at gives the buffer of a CPU; nil if the capture has no pages of it.
func (w *witness) at(cpu int) (*witnessCPU, error) {
	for len(w.cpus) <= cpu {
		w.cpus, w.known = append(w.cpus, nil), append(w.known, false)
	}
	if w.known[cpu] {
		return w.cpus[cpu], nil
	}
	w.known[cpu] = true
	pages := w.opt.Pages(cpu)
	if pages == nil {
		return nil, nil
	}
	c := &witnessCPU{cpu: cpu}
	var err error
	if c.origin, err = newOrigin(pages, w.opt.PagesSize); err != nil {
		return nil, err
	}
	c.buf, err = ringbuf.New(ringbuf.Config{
		CPUs:        1,
		Size:        lanePages(w.opt.PagesSize) * (w.opt.PagesSize - ringbuf.PageHeaderSize),
		SubbufSize:  w.opt.PagesSize,
		NoOverwrite: true,
		Clock:       func(int) uint64 { return c.now },
	})
	if err != nil {
		return nil, err
	}
	c.recorder = record.NewRecorder(c.buf, w.stacks)
	w.cpus[cpu] = c
	return c, nil
}

// record writes a record in the form that the capture has it.
func (c *witnessCPU) record(w *witness, r *record.Record) error {
	if page := &c.origin.page; page.there && c.written >= page.records {
		left := false
		if c.origin.writerLeft() {
			// Only the next record makes the writer leave the page.
			if err := w.write(c, r); err != nil {
				return err
			}
			var err error
			if left, err = c.take(w.page, true); err != nil {
				return err
			}
		}
		if identical, err := c.compare(w.page, left); err != nil || left && identical {
			c.written = 1
			return err
		}
	}
	c.pending += w.room(r, r.Time > c.now+longestDelta)
	if 2*c.pending > (lanePages(len(w.page))-2)*len(w.page) { // more than a page's worth: it cannot be identical
		if _, err := c.take(w.page, false); err != nil {
			return err
		}
	}
	c.written++
	return w.write(c, r)
}

// longestDelta is the longest delta for which an event's header has room. A longer one
// needs a time extend.
//
// Kernel: test_time_stamp, kernel/trace/ring_buffer.c.
const longestDelta = 1<<27 - 1

// room gives the room that a record takes; late says that it has a time extend.
func (w *witness) room(r *record.Record, late bool) int {
	size := max(len(r.Data), event.CommonSize)
	switch {
	case w.isID(r):
	case r.Kind == record.KernelStack:
		size = kernelStackFixed + wordBytes*len(r.Stack)
	case r.Kind == record.UserStack:
		size = userStackSize
	}
	size = ringbuf.EventSize(size)
	if late {
		size += timeExtendBytes
	}
	return size
}

// isID reports whether the capture has a stack as an id.
func (w *witness) isID(r *record.Record) bool {
	return len(r.Data) >= event.CommonSize && w.ids.class(event.ParseCommon(r.Data).Type) == stackID
}

// write records a stack in full, unless the capture has it as an id.
func (w *witness) write(c *witnessCPU, r *record.Record) error {
	c.now = max(c.now, r.Time)
	kind := r.Kind
	if w.isID(r) {
		kind = record.Event
	}
	stack := stackOf(r)
	var err error
	switch kind {
	case record.KernelStack:
		_, err = c.recorder.WriteKernelStack(0, ringbuf.Normal, &stack)
	case record.UserStack:
		_, err = c.recorder.WriteUserStack(0, ringbuf.Normal, &stack)
	default:
		data := r.Data
		if len(data) < event.CommonSize {
			r.Common.Put(w.common[:])
			data = w.common[:]
		}
		err = c.recorder.Event(0, ringbuf.Normal, data)
	}
	if errors.Is(err, ringbuf.ErrTooBig) {
		return nil // the record is then missing on the page, which the comparison finds
	}
	return err
}

// take takes the pages that the writer has left out of the buffer, or all of them. some
// reports whether there was a page.
func (c *witnessCPU) take(page []byte, left bool) (some bool, _ error) {
	c.pending = 0
	want := &c.origin.page
	for c.buf.ReadPage(0, page, left) {
		got, err := &c.decode, c.decode.Reset(page)
		if err != nil {
			return some, err
		}
		if _, _, ok := got.NextData(); !ok {
			continue // this is the padding of a page that was read before the writer left it
		}
		if err := got.Reset(page); err != nil {
			return some, err
		}
		some = true
		c.bytes += got.Commit()
		c.pieces++
		switch {
		case !want.there:
			c.unmatched++
			continue
		case c.pieces == 1:
			if c.what, err = pageDifference(want.image, page); err != nil {
				return some, err
			}
		case c.what == "": // the page was identical so far, but there is more
			c.same, c.what = want.records, "the re-created page goes on"
			continue
		}
		if c.what != "" {
			c.same += want.sameRecords(got)
		}
	}
	return some, nil
}

// compare compares what was written since the last page with the next page of the
// capture, and goes on to the page after that. taken says that all of it has been taken
// out of the buffer already.
func (c *witnessCPU) compare(page []byte, taken bool) (identical bool, _ error) {
	if !taken {
		if _, err := c.take(page, false); err != nil {
			return false, err
		}
	}
	o := c.origin
	if c.pieces == 0 {
		c.what = "nothing re-created"
	}
	if c.what == "" {
		c.same = o.page.records
		c.identical++
	} else if c.first == "" {
		c.first = fmt.Sprintf("page %d: %s", c.compared, c.what)
	}
	if c.same != o.page.records || c.written != o.page.records {
		c.recordsDiffer++
	}
	c.compared++
	c.records += uint64(o.page.records)
	c.recordsIdentical += uint64(c.same)
	c.captureBytes += uint64(o.page.data.Commit())
	c.recreatedBytes += uint64(c.bytes)
	identical = c.what == ""
	c.pieces, c.same, c.bytes, c.written, c.what = 0, 0, 0, 0, ""
	if err := o.advance(); err != nil {
		return identical, err
	}
	if o.page.there && o.page.goesOn {
		c.cut++
	}
	// Only if nothing differs and nothing is missing does the next page begin where the
	// writer here would begin it. Otherwise it is begun where the capture's page
	// begins.
	if !identical || o.page.missed {
		c.buf.Reset(0)
	}
	return identical, nil
}

// finish compares the last pages.
func (w *witness) finish() error {
	for _, c := range w.cpus {
		if c == nil {
			continue
		}
		err := c.finish(w.page)
		if err != nil {
			return fmt.Errorf("report: cpu %d, page %d of the capture: %w", c.cpu, c.compared, err)
		}
	}
	return nil
}

func (c *witnessCPU) finish(page []byte) error {
	if !c.origin.page.there {
		_, err := c.take(page, false)
		return err
	}
	if c.written > 0 {
		if _, err := c.compare(page, false); err != nil {
			return err
		}
	}
	for c.origin.page.there {
		c.unmatched++
		if err := c.origin.advance(); err != nil {
			return err
		}
	}
	return nil
}

// result adds up the CPUs. first names the CPU.
func (w *witness) result() (sum comparison) {
	for _, c := range w.cpus {
		if c == nil {
			continue
		}
		sum.add(&c.comparison)
		if c.first != "" && sum.first == "" {
			sum.first = fmt.Sprintf("cpu %d, %s", c.cpu, c.first)
		}
	}
	return sum
}
