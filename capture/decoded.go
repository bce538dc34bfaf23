package capture

import (
	"errors"
	"fmt"
	"io"

	"ftracelab/ringbuf"
	"ftracelab/tracer/tracedat"
)

// decodedPages reads the images of a CPU's pages. It decodes each image to the last
// record before it hands the image out.
type decodedPages struct {
	c    *cpuPages
	left []byte // the part of the present image that Read has not given yet
	lost bool   // a page before the next one was left out
	err  error
}

// decoded gives the pages of all CPUs, which can be read once.
func (f *folder) decoded() []tracedat.CPUPages {
	var list []tracedat.CPUPages
	for _, c := range f.cpus {
		list = append(list, tracedat.CPUPages{CPU: c.cpu, Pages: &decodedPages{c: c}})
	}
	return list
}

// Read implements io.Reader.
func (p *decodedPages) Read(b []byte) (int, error) {
	for len(p.left) == 0 && p.err == nil {
		p.left, p.err = p.next()
	}
	if len(p.left) == 0 {
		return 0, p.err
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// next gives the next image that can be decoded.
func (p *decodedPages) next() ([]byte, error) {
	c := p.c
	for {
		size := c.f.info.SubbufSize
		image, err := c.in.page(size)
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err == io.ErrUnexpectedEOF:
			err = c.fault(fmt.Errorf("the file ends %d bytes into a page of %d", len(image), size))
		case err != nil:
			err = readFault(c.shown, err)
		default:
			if err = p.decode(image); err == nil {
				c.off += int64(size)
				return p.mark(image)
			}
			err = c.fault(err)
		}
		if !c.f.opt.KeepGoing || c.f.stopped() {
			return nil, err
		}
		c.f.info.skip(err, 0, 0, 1)
		if len(image) < size { // nothing follows
			return nil, io.EOF
		}
		c.off += int64(size)
		p.lost = true
	}
}

// decode reads every record of an image, and counts them if all can be read.
func (p *decodedPages) decode(image []byte) error {
	c := p.c
	if err := c.page.Reset(image); err != nil {
		return err
	}
	counts := c.f.info
	for {
		e, ok := c.page.Next()
		if !ok {
			break
		}
		if !e.IsData() {
			continue
		}
		if err := c.decode(e); err != nil {
			return err
		}
		counts.count(&c.rec)
	}
	if err := c.page.Err(); err != nil {
		return err
	}
	c.f.info = counts
	return nil
}

// mark marks the image if a page before it was left out: events are missing there, and
// nobody knows how many.
func (p *decodedPages) mark(image []byte) ([]byte, error) {
	if !p.lost {
		return image, nil
	}
	p.lost = false
	return ringbuf.MarkMissed(image)
}
