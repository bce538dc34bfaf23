package output

import (
	"fmt"

	"ftracelab/ringbuf"
)

// Pages reads sub-buffers as per_cpu/cpuN/trace_pipe_raw gives them, one after
// the other. It is a Reader.
type Pages struct {
	cpu   int
	image []byte
	size  int // of a sub-buffer
	off   int // of the next one
	page  ringbuf.PageReader
	open  bool
	head  Entry
	ready bool
	err   error
}

// NewPages reads image, sub-buffers of size bytes that were written on cpu.
func NewPages(cpu int, image []byte, size int) (*Pages, error) {
	if size <= 0 || len(image)%size != 0 {
		return nil, fmt.Errorf("output: cpu %d: %d bytes are no whole number of sub-buffers of %d", cpu, len(image), size)
	}
	return &Pages{cpu: cpu, image: image, size: size}, nil
}

// Peek shows the next record.
func (p *Pages) Peek() (Entry, bool) {
	if !p.ready {
		p.head, p.ready = p.advance()
	}
	return p.head, p.ready
}

// Next takes the next record.
func (p *Pages) Next() (Entry, bool) {
	e, ok := p.Peek()
	p.ready = false
	return e, ok
}

// Err tells what stopped Next before the end of the image.
func (p *Pages) Err() error { return p.err }

func (p *Pages) advance() (Entry, bool) {
	var lost uint64
	for p.err == nil {
		if !p.open {
			if p.off >= len(p.image) {
				return Entry{}, false
			}
			if p.err = p.page.Reset(p.image[p.off : p.off+p.size]); p.err != nil {
				break
			}
			p.off += p.size
			p.open = true
			if missed, count, known := p.page.Missed(); missed && known {
				lost += count
			} else if missed {
				lost = ^uint64(0)
			}
		}
		time, data, ok := p.page.NextData()
		if !ok {
			p.open = false
			p.err = p.page.Err()
			continue
		}
		return Entry{CPU: p.cpu, Time: time, Data: data, Lost: lost}, true
	}
	if p.err != nil {
		p.err = fmt.Errorf("output: cpu %d: sub-buffer at %d: %w", p.cpu, max(0, p.off-p.size), p.err)
	}
	return Entry{}, false
}
