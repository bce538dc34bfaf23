package report

import (
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/tracer/record"
)

// lanePages is the length, in sub-buffers, of the ring through which a lane writes.
// Small sub-buffers are emptied several at a time. If sub-buffers are large, the ring
// has only as many as are needed for a record that fills one.
func lanePages(subbuf int) int {
	if subbuf <= 64<<10 {
		return 6
	}
	return 4
}

// lane writes the records of one CPU for one design. It has a ring buffer, which is
// emptied as it fills so that its memory does not depend on the trace, and the counts
// of its pages.
type lane struct {
	cpu      int
	ring     record.Ring
	recorder *record.Recorder
	now      uint64 // the clock
	newEntry bool   // NewEntry of the last event
	call     bool   // Call of the last event
	written  int    // how many bytes, at most, were written since the ring was last emptied
	page     []byte // shared by the lanes of a design
	decode   ringbuf.PageReader
	ids      *recordIDs

	coded stackSum // of the coded stacks that were written
	tally tally
	keep  *retention
}

func newLane(cpu int, w *writer) (*lane, error) {
	l := &lane{cpu: cpu, page: w.page, ids: &w.ids, keep: newRetention(w.opt.nrPages(), !w.opt.NoOverwrite)}
	ring, err := w.design.NewRing(ringbuf.Config{
		CPUs:        1,
		Size:        lanePages(w.opt.SubbufSize) * (w.opt.SubbufSize - ringbuf.PageHeaderSize),
		SubbufSize:  w.opt.SubbufSize,
		NoOverwrite: true, // the lane loses nothing; retention knows what a real buffer would lose
		Clock:       func(int) uint64 { return l.now },
	})
	if err != nil {
		return nil, fmt.Errorf("report: a ring buffer for cpu %d: %w", cpu, err)
	}
	if w.design.Kernel == record.CodedStack {
		l.tally.coded = record.NewCodedReader(w.design.Code)
	}
	l.ring, l.recorder = ring, record.NewRecorderOf(cpu, ring, w.stacks)
	return l, nil
}

// at sets the clock to t, but never back.
func (l *lane) at(t uint64) { l.now = max(l.now, t) }

// makeRoom empties the ring if there might be no room for that many more bytes.
func (l *lane) makeRoom(bytes int) error {
	l.written += bytes
	// A record that does not fit on a page leaves fewer bytes unused there than it has
	// itself, so the ring needs at most twice the bytes that were written.
	if 2*l.written <= (lanePages(len(l.page))-2)*(len(l.page)-ringbuf.PageHeaderSize) {
		return nil
	}
	l.written = bytes
	return l.drain(true)
}

// drain takes the pages that the writer has left, or at the end all pages, and counts
// them.
func (l *lane) drain(fullOnly bool) error {
	for l.ring.ReadPage(0, l.page, true) {
		if err := l.count(true); err != nil {
			return err
		}
	}
	if fullOnly {
		return nil
	}
	for l.ring.ReadPage(0, l.page, false) {
		if err := l.count(false); err != nil {
			return err
		}
	}
	return nil
}

// count decodes the page that was just read.
func (l *lane) count(full bool) error {
	err := l.decode.Reset(l.page)
	if err != nil {
		return fmt.Errorf("report: cpu %d, page %d: %w", l.cpu, l.tally.pages, err)
	}
	first := l.decode.Time()
	events, err := l.tally.page(&l.decode, len(l.page), l.ids, full)
	if err != nil {
		return fmt.Errorf("report: cpu %d, page %d: %w", l.cpu, l.tally.pages-1, err)
	}
	part := float64(l.decode.Commit()) / float64(len(l.page)-ringbuf.PageHeaderSize)
	l.keep.page(first, l.now, events, part, full)
	return nil
}

// finish empties the ring and compares the count with the ledger, and coded stacks with
// those that were written.
func (l *lane) finish() error {
	if err := l.drain(false); err != nil {
		return err
	}
	if err := l.tally.agree(l.ring.Ledger(0)); err != nil {
		return fmt.Errorf("report: cpu %d: %w", l.cpu, err)
	}
	if l.tally.stacks != l.coded {
		return fmt.Errorf("report: cpu %d: the coded stacks on the pages are others than were written", l.cpu)
	}
	return nil
}
