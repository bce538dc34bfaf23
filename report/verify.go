package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"ftracelab/ringbuf"
)

// origin compares re-created pages with those of the capture.
type origin struct {
	pages               io.Reader
	want                []byte
	compared, identical uint64
	missing, extra      uint64 // pages only one side has
	ended               bool
	first               string // what differs on the first page that does
}

// compare reads the next page of the capture and holds got against it.
func (o *origin) compare(got []byte) error {
	if o.ended {
		o.extra++
		return nil
	}
	switch _, err := io.ReadFull(o.pages, o.want); {
	case errors.Is(err, io.EOF):
		o.ended = true
		o.extra++
		return nil
	case err != nil:
		return err
	}
	o.compared++
	what, err := pageDifference(o.want, got)
	if err != nil {
		return err
	}
	if what == "" {
		o.identical++
	} else if o.first == "" {
		o.first = fmt.Sprintf("page %d: %s", o.compared-1, what)
	}
	return nil
}

// rest counts the pages of the capture that were not re-created.
func (o *origin) rest() error {
	for !o.ended {
		_, err := io.ReadFull(o.pages, o.want)
		switch {
		case errors.Is(err, io.EOF):
			o.ended = true
		case err != nil:
			return err
		default:
			o.missing++
		}
	}
	return nil
}

// pageDifference names what differs between a page of the capture and the page
// re-created from its events; empty if nothing does. Whether events were lost
// before the page, and the count behind its data that says how many, are the
// reader's addition and not compared.
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
	return fmt.Sprintf("byte %d is %#02x, re-created %#02x", at, want[at], got[at]), nil
}
