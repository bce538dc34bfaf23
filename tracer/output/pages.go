package output

import (
	"fmt"

	"ftracelab/ringbuf"
)

// Pages reads the sub-buffers that per_cpu/cpuN/trace_pipe_raw gives, one after the
// other. It is a Batcher.
type Pages struct {
	cpu   int
	image []byte
	size  int // the size of a sub-buffer in bytes
	off   int // where the next sub-buffer begins
	page  ringbuf.PageReader
	left  []Entry // the entries of the page that were not given yet
	batch []Entry // the memory of left
	lost  uint64  // how many events were lost before the next record
	err   error
}

// NewPages makes a reader for image, which holds sub-buffers of size bytes that were
// written on cpu.
func NewPages(cpu int, image []byte, size int) (*Pages, error) {
	if size <= 0 || len(image)%size != 0 {
		return nil, fmt.Errorf("output: cpu %d: %d bytes are no whole number of sub-buffers of %d", cpu, len(image), size)
	}
	return &Pages{cpu: cpu, image: image, size: size}, nil
}

// Peek shows the next record.
func (p *Pages) Peek() (Entry, bool) {
	for len(p.left) == 0 && p.err == nil && p.off < len(p.image) {
		p.read()
	}
	if len(p.left) == 0 {
		return Entry{}, false
	}
	return p.left[0], true
}

// Next takes the next record.
func (p *Pages) Next() (Entry, bool) {
	e, ok := p.Peek()
	if ok {
		p.left = p.left[1:]
	}
	return e, ok
}

// Batch takes the records up to the end of a page.
func (p *Pages) Batch() []Entry {
	p.Peek()
	batch := p.left
	p.left = nil
	return batch
}

// Err tells why Next stopped before the end of the image; nil if it did not.
func (p *Pages) Err() error { return p.err }

// read reads a page.
func (p *Pages) read() {
	err := p.page.Reset(p.image[p.off : p.off+p.size])
	if err == nil {
		p.batch = p.page.AppendData(p.batch[:0], p.cpu)
		p.left = p.batch
		err = p.page.Err()
	}
	if err != nil {
		p.err = fmt.Errorf("output: cpu %d: sub-buffer at %d: %w", p.cpu, p.off, err)
	}
	if missed, count, known := p.page.Missed(); missed && known && p.lost != ringbuf.LostUnknown {
		p.lost += count
	} else if missed {
		p.lost = ringbuf.LostUnknown
	}
	if len(p.left) > 0 {
		p.left[0].Lost, p.lost = p.lost, 0
	}
	p.off += p.size
}
