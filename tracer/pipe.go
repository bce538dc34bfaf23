package tracer

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"ftracelab/tracer/output"
)

// pipe is an open trace_pipe or trace_pipe_raw: it takes events out of the
// buffer as they are read.
type pipe struct {
	i    *Instance
	cpu  int  // -1: all CPUs
	took bool // something was read before

	// of trace_pipe
	printer *output.Printer
	merge   *output.Merge
	text    []byte
}

// take gives what the buffer has. With tracing off and something read already
// the pipe is at its end; otherwise its reader waits.
//
// Kernel: tracing_wait_pipe, kernel/trace/trace.c.
func (p *pipe) take(from func(*pipe) []byte) ([]byte, error) {
	p.i.ft.mu.Lock()
	defer p.i.ft.mu.Unlock()
	data := from(p)
	if len(data) == 0 && p.took && !p.i.buf.Recording() {
		return nil, io.EOF
	}
	p.took = p.took || len(data) > 0
	return data, nil
}

// idleStep is how far the machine runs at a time while a reader waits; it has
// nothing else to wait for.
const idleStep = 1_000_000

func (p *pipe) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return syscall.EINTR
	}
	p.i.ft.Run(idleStep)
	return nil
}

// pipeChunk is about how much trace_pipe renders at a time.
const pipeChunk = 64 << 10

// takeText takes events and renders them.
//
// Kernel: tracing_read_pipe, kernel/trace/trace.c.
func takeText(p *pipe) []byte {
	if p.printer == nil {
		p.open()
	}
	p.text = p.text[:0]
	for more := true; more && len(p.text) < pipeChunk; {
		p.text, more = p.printer.AppendNext(p.text, p.merge)
	}
	return p.text
}

func (p *pipe) open() {
	printer, err := p.i.printer()
	if err != nil {
		panic(fmt.Sprintf("tracer: invariant: the catalogue prints: %v", err))
	}
	var readers []output.Reader
	for cpu := range p.i.buf.CPUs() {
		if p.cpu < 0 || p.cpu == cpu {
			readers = append(readers, output.Consumer(p.i.buf, cpu))
		}
	}
	p.printer, p.merge = printer, output.NewLiveMerge(readers...)
}

// takePage takes one sub-buffer as it lies.
//
// Kernel: tracing_buffers_read, kernel/trace/trace.c.
func takePage(p *pipe) []byte {
	page := make([]byte, p.i.buf.SubbufSize())
	if p.i.buf.ReadPage(p.cpu, page, false) {
		return page
	}
	return nil
}

// Stop is echo 0 > tracing_on.
func (i *Instance) Stop() {
	i.ft.mu.Lock()
	defer i.ft.mu.Unlock()
	i.buf.SetRecording(false)
}

// TakePages takes all sub-buffers of cpu as they lie, one behind the other, as
// reading per_cpu/cpuN/trace_pipe_raw to its end would.
func (i *Instance) TakePages(cpu int) []byte {
	i.ft.mu.Lock()
	defer i.ft.mu.Unlock()
	var pages []byte
	p := &pipe{i: i, cpu: cpu}
	for page := takePage(p); page != nil; page = takePage(p) {
		pages = append(pages, page...)
	}
	return pages
}
