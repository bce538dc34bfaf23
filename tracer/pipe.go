package tracer

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/option"
	"ftracelab/tracer/output"
	"ftracelab/tracer/plugin"
)

// pipe is an open trace_pipe or trace_pipe_raw: it takes events out of the
// buffer as they are read.
type pipe struct {
	tr       *Instance
	cpu      int  // -1: all CPUs
	snapshot bool // reads the snapshot instead of the buffer
	nonBlock bool // reading an empty buffer gives EAGAIN, whatever the state
	took     bool // something was read before

	// The following fields are for trace_pipe.
	printer *output.Printer
	types   int // the count of changes of types that the printer last heard of
	merge   *output.Merge
	text    []byte
	// What the tracer prints besides the records, and which tracer that is.
	says  func(dst []byte) []byte
	of    *plugin.Tracer
	aside bool // text holds no records
}

// textPipe is trace_pipe, which can be open only once at a time for each CPU.
//
// Kernel: tracing_open_pipe and open_pipe_on_cpu, kernel/trace/trace.c.
func (tr *Instance) textPipe(cpu int) tracefile.Node {
	f := pipe{tr: tr, cpu: cpu}.file("trace_pipe", takeText, func() error { return tr.claimPipe(cpu) }, func() { tr.releasePipe(cpu) })
	f.Holds = func() bool { return true } // while it is open, no tracer can be selected
	f.Live = tr.buf.Recording
	return f
}

// rawPipe is trace_pipe_raw, of which any number may be open.
//
// Kernel: tracing_buffers_open, kernel/trace/trace.c.
func (tr *Instance) rawPipe(cpu int) tracefile.Node {
	f := pipe{tr: tr, cpu: cpu}.file("trace_pipe_raw", takePage, func() error { return nil }, func() {})
	f.Ring = &tracefile.Ring{Recording: tr.buf.Recording, Emptied: func() (n uint64) {
		_ = tr.locked(func() error { n = tr.emptied[cpu]; return nil })
		return n
	}, Ready: func() (ready bool) {
		_ = tr.locked(func() error { ready = tr.ready(cpu); return nil })
		return ready
	}, Map: func() (tracefile.Mapping, error) { return tr.mapRing(cpu) }}
	return f
}

// file is a file whose reads take events out of the buffer; each open gets a pipe
// like p. While it is open, the tracer cannot be changed. claim and release run under
// the lock.
func (p pipe) file(name string, take func(p *pipe, size int) []byte, claim func() error, release func()) *tracefile.File {
	tr := p.tr
	return &tracefile.File{Name: name, Mode: 0o440, Traits: tracefile.Traits{Consumes: true}, Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		err := tr.locked(func() error {
			if err := claim(); err != nil {
				return err
			}
			tr.readers++
			return nil
		})
		if err != nil {
			return nil, err
		}
		close := func() { _ = tr.locked(func() error { release(); tr.readers--; return nil }) }
		p := p
		p.nonBlock = flags&tracefile.NonBlock != 0
		h, err := tracefile.Pipe(name, 0o440, func(size int) ([]byte, error) { return p.take(take, size) }, p.wait, p.poll).Open(ctx, flags)
		if err != nil {
			close()
			return nil, err
		}
		return &openFile{h, close}, nil
	}}
}

// claimPipe takes the trace_pipe of one CPU or, with cpu < 0, of all.
func (tr *Instance) claimPipe(cpu int) error {
	for n := range tr.piped {
		if tr.piped[n] && (cpu < 0 || cpu == n) {
			return fmt.Errorf("trace_pipe is open: %w", syscall.EBUSY)
		}
	}
	tr.markPipe(cpu, true)
	return nil
}

func (tr *Instance) releasePipe(cpu int) { tr.markPipe(cpu, false) }

func (tr *Instance) markPipe(cpu int, open bool) {
	for n := range tr.piped {
		if cpu < 0 || cpu == n {
			tr.piped[n] = open
		}
	}
}

// take returns what the buffer has. If the buffer is empty, tracing is off and
// something was read already, the pipe is at its end; otherwise its reader waits.
//
// Departure: trace_pipe_raw ends like trace_pipe; in the kernel it goes on waiting,
// because somebody may switch tracing on again.
//
// Kernel: tracing_wait_pipe, kernel/trace/trace.c.
func (p *pipe) take(from func(p *pipe, size int) []byte, size int) ([]byte, error) {
	p.tr.ft.mu.Lock()
	defer p.tr.ft.mu.Unlock()
	data := from(p, size)
	if len(data) == 0 && !p.nonBlock && (p.snapshot || p.took && !p.tr.buf.Recording()) {
		return nil, io.EOF
	}
	p.took = p.took || len(data) > 0 && !p.aside
	return data, nil
}

// idleStep is how far the machine runs at a time while a reader waits; the reader has
// nothing else to wait for.
const idleStep = 1_000_000

// wait lets simulated time pass until there may be something to read.
//
// Departure: in a kernel time passes by itself. Here a reader that waits moves it on,
// unless Config.Wait says otherwise.
func (p *pipe) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return syscall.EINTR
	}
	if live := p.tr.ft.cfg.Wait; live != nil {
		return live(ctx)
	}
	p.tr.ft.Run(idleStep)
	return nil
}

// poll says whether the buffer has something to read. A pipe of one CPU can be read once
// that buffer is as full as buffer_percent asks, and one of all CPUs as soon as there is
// any event.
//
// Kernel: trace_poll, kernel/trace/trace.c; ring_buffer_poll_wait, kernel/trace/ring_buffer.c.
func (p *pipe) poll() tracefile.Events {
	p.tr.ft.mu.Lock()
	defer p.tr.ft.mu.Unlock()
	buf := p.tr.buf
	if p.snapshot {
		buf = p.tr.snap.buf
	}
	if p.tr.opts.Has(option.Block) {
		return tracefile.Readable(true)
	}
	if p.cpu >= 0 {
		return tracefile.Readable(buf.WatermarkHit(p.cpu, int(p.tr.percent)))
	}
	for cpu := range buf.CPUs() {
		if !buf.Empty(cpu) {
			return tracefile.Readable(true)
		}
	}
	return 0
}

// pipeChunk is about how much trace_pipe renders at most for one read.
//
// Departure: the kernel has room for 8 KiB, so that a read gives no more.
//
// Kernel: TRACE_SEQ_SIZE, include/linux/trace_seq.h.
const pipeChunk = 64 << 10

// takeText takes events and renders them, until there is enough for a read of that size. So
// what a reader of one line leaves is there for the next reader.
//
// Kernel: tracing_read_pipe, kernel/trace/trace.c.
func takeText(p *pipe, size int) []byte {
	if p.printer == nil {
		p.open()
	}
	if n := p.tr.ft.types.Changes(); n != p.types {
		p.types = n
		p.printer.ForgetTypes()
	}
	p.text = p.text[:0]
	if t := p.tr.current; t.Pipe != nil {
		if p.says == nil || p.of != t {
			p.says, p.of = t.Pipe(p.tr.trace()), t
		}
		p.text = p.says(p.text)
	}
	if p.aside = len(p.text) > 0; p.aside {
		return p.text
	}
	for more := true; more && len(p.text) < min(size, pipeChunk); {
		p.text, more = p.printer.AppendNext(p.text, p.merge)
	}
	return p.text
}

func (p *pipe) open() {
	printer, err := p.tr.printer(p.tr.buf)
	if err != nil {
		panic(fmt.Sprintf("tracer: invariant: the catalogue prints: %v", err))
	}
	var readers []output.Reader
	for cpu := range p.tr.buf.CPUs() {
		if p.cpu < 0 || p.cpu == cpu {
			readers = append(readers, output.Consumer(p.tr.buf, cpu))
		}
	}
	p.printer, p.merge = printer, output.NewLiveMerge(readers...)
}

// takePage takes one sub-buffer, as raw bytes.
//
// Kernel: tracing_buffers_read, kernel/trace/trace.c.
func takePage(p *pipe, _ int) []byte {
	if !p.nonBlock && !p.snapshot && !p.tr.ready(p.cpu) {
		return nil
	}
	buf := p.tr.buf
	if p.snapshot {
		buf = p.tr.snap.buf
	}
	page := make([]byte, buf.SubbufSize())
	if buf.ReadPage(p.cpu, page, false) {
		return page
	}
	return nil
}

// Stop switches tracing_on off.
func (tr *Instance) Stop() {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	tr.buf.SetRecording(false)
}

// TakePages takes all sub-buffers of cpu, as raw bytes one after the other, as
// reading per_cpu/cpuN/trace_pipe_raw to its end would.
func (tr *Instance) TakePages(cpu int) []byte { return tr.take(cpu, false) }

// TakeShown is TakePages for the buffer that trace shows. With a latency tracer that
// is the buffer of the longest latency, which no file of a kernel gives as pages.
func (tr *Instance) TakeShown(cpu int) []byte { return tr.take(cpu, tr.ShowsLongest()) }

// ShowsLongest reports whether trace shows the buffer of a latency tracer's longest
// latency instead of the buffer that is written.
func (tr *Instance) ShowsLongest() bool {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	return tr.shown() != tr.buf
}

// Moment returns what only the latency format shows of the buffer that trace shows:
// when it begins, and which latency it holds.
func (tr *Instance) Moment() (began uint64, latency output.Latency) {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	l := tr.shows(tr.shown())
	return l.began, l.header
}

func (tr *Instance) take(cpu int, snapshot bool) []byte {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	var pages []byte
	p := &pipe{tr: tr, cpu: cpu, snapshot: snapshot}
	for page := takePage(p, 0); page != nil; page = takePage(p, 0) {
		pages = append(pages, page...)
	}
	return pages
}
