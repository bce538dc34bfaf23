package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"ftracelab/ringbuf"
)

// origin reads the pages of one CPU of the capture, in order. It looks one page ahead,
// because only the start of a page tells whether the page before it was full.
type origin struct {
	pages      io.Reader
	page, next originPage
	err        error // the error from looking ahead
}

// originPage is a page of the capture.
type originPage struct {
	image   []byte
	there   bool
	data    ringbuf.PageReader // the part that was not compared yet
	records int                // how many data events are on it
	goesOn  bool               // it begins where a reader has cut off the page before it
	padded  bool               // it ends with padding
	missed  bool               // events were lost before it
}

func newOrigin(pages io.Reader, size int) (*origin, error) {
	o := &origin{pages: pages}
	o.page.image, o.next.image = make([]byte, size), make([]byte, size)
	if o.err = o.read(&o.next); o.err != nil {
		return nil, o.err
	}
	return o, o.advance()
}

// advance goes to the next page that has a record. On other pages there is nothing to
// re-create: if a page was read before the writer left it, its padding comes as a page
// of its own.
func (o *origin) advance() error {
	for o.err == nil {
		o.page, o.next = o.next, o.page
		if !o.page.there {
			return nil
		}
		o.err = o.read(&o.next)
		if o.page.records > 0 {
			return nil
		}
	}
	return o.err
}

// read reads the page behind the one read last.
//
// Kernel: if the writer is still on a page, ring_buffer_read_page
// (kernel/trace/ring_buffer.c) gives what is there. It gives the rest later, as a page
// whose stamp is the time of the last event that was given. So the first event of such
// a rest is later than the stamp of its page; on a page that begins where the writer
// began it, it is not.
func (o *origin) read(p *originPage) error {
	p.there, p.records, p.goesOn, p.padded = false, 0, false, false
	switch _, err := io.ReadFull(o.pages, p.image); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	if err := p.data.Reset(p.image); err != nil {
		return err
	}
	p.there = true
	p.missed, _, _ = p.data.Missed()
	first := true
	for e, ok := p.data.Next(); ok; e, ok = p.data.Next() {
		if first {
			p.goesOn = e.Delta != 0 && e.TypeLen != ringbuf.TypeTimeStamp || e.Time != p.data.Time()
			first = false
		}
		if e.IsData() {
			p.records++
		}
		p.padded = e.TypeLen == ringbuf.TypePadding
	}
	return errors.Join(p.data.Err(), p.data.Reset(p.image))
}

// writerLeft reports whether the rest of a page was read after the writer had left the
// page. Only then is its padding read as well; a page that is read as a whole comes
// without it.
func (o *origin) writerLeft() bool { return o.page.padded }

// comparison is the result of comparing re-created pages with those of the capture.
type comparison struct {
	compared, identical uint64
	unmatched           uint64 // pages that only one side has
	cut                 uint64 // compared pages that a reader took before they were full

	records, recordsIdentical    uint64 // records on the compared pages, and those with the same time and bytes
	captureBytes, recreatedBytes uint64 // data on these pages, time stamps included
	first                        string // what differs on the first page that is not identical
	recordsDiffer                uint64 // pages that have other records
}

func (c *comparison) add(o *comparison) {
	for _, p := range []struct{ to, from *uint64 }{
		{&c.compared, &o.compared},
		{&c.identical, &o.identical},
		{&c.unmatched, &o.unmatched},
		{&c.cut, &o.cut},
		{&c.records, &o.records},
		{&c.recordsIdentical, &o.recordsIdentical},
		{&c.captureBytes, &o.captureBytes},
		{&c.recreatedBytes, &o.recreatedBytes},
		{&c.recordsDiffer, &o.recordsDiffer},
	} {
		*p.to += *p.from
	}
}

// sameRecords counts the data events of got that are the same as the next ones of the
// capture's page.
func (p *originPage) sameRecords(got *ringbuf.PageReader) (same int) {
	for {
		t, data, ok := got.NextData()
		if !ok {
			return same
		}
		wantTime, want, ok := p.data.NextData()
		if ok && t == wantTime && bytes.Equal(data, want) {
			same++
		}
	}
}

// pageDifference names what differs between a page of the capture and the page that was
// re-created from its events; empty if nothing differs. The mark that events were lost
// before the page, and their number behind its data, are not compared, because the
// reader has added them. Bytes inside padding are not compared either, because the
// kernel leaves there what its memory held before.
func pageDifference(want, got []byte) (string, error) {
	w, err := ringbuf.ReadPageImage(want)
	if err != nil {
		return "", err
	}
	g, err := ringbuf.ReadPageImage(got)
	if err != nil {
		return "", err
	}
	end := ringbuf.PageHeaderSize + w.Commit()
	if _, _, counted := w.Missed(); !counted {
		end = len(want)
	}
	switch {
	case w.Time() != g.Time():
		return fmt.Sprintf("time stamp %d, re-created %d", w.Time(), g.Time()), nil
	case w.Commit() != g.Commit():
		return fmt.Sprintf("%d bytes of data, re-created %d", w.Commit(), g.Commit()), nil
	case bytes.Equal(want[ringbuf.PageHeaderSize:end], got[ringbuf.PageHeaderSize:end]):
		return "", nil
	}
	at := ringbuf.PageHeaderSize
	for want[at] == got[at] {
		at++
	}
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		last := e.Offset + e.Size
		if e.TypeLen == ringbuf.TypePadding && e.Offset+eventHeaderBytes+lengthWordBytes <= at &&
			last == ringbuf.PageHeaderSize+w.Commit() && bytes.Equal(want[last:end], got[last:end]) {
			return "", nil
		}
	}
	return fmt.Sprintf("byte %d is %#02x, re-created %#02x", at, want[at], got[at]), nil
}

// caveat says why pages were not re-created, and whether that matters.
func (v *Verification) caveat(note func(string, ...any)) {
	if v.PagesCompared > v.PagesIdentical {
		why := "A write that was interrupted, discarded or refused leaves time stamps and padding that no record tells of"
		if v.PagesOfOtherRecords > 0 {
			why = fmt.Sprintf("%d of them have other records", v.PagesOfOtherRecords)
		}
		more, by := "more", int64(v.CaptureBytes)-int64(v.RecreatedBytes)
		if by < 0 {
			more, by = "fewer", -by
		}
		note("%d of the capture's %d pages were not re-created byte for byte (first: %s). %s. "+
			"%d of the %d records are identical, and the capture's pages hold %d bytes %s than ours, %.2f %%",
			v.PagesCompared-v.PagesIdentical, v.PagesCompared, v.FirstDifference, why,
			v.RecordsIdentical, v.RecordsCompared, by, more, 100*float64(by)/float64(max(1, v.CaptureBytes)))
	}
	if v.PagesUnmatched > 0 {
		note("%d pages have no counterpart: the capture and what was re-created of it are not equally long", v.PagesUnmatched)
	}
}
