package capture

import (
	"fmt"
	"io"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
)

// perfText reads the text of perf script in three goroutines. They hand on blocks in
// order, so the records never depend on timing:
//
//	file ─ blockReader ─ blocks ─ parse ─ batches ─ next
type perfText struct {
	*base
	name    string
	emit    *samples
	batches chan *perfBatch
	free    chan *perfBatch
	stop    chan struct{}
	done    chan struct{} // closed when the goroutines have ended

	batch *perfBatch
	i     int
	clock []uint64
	comm  string
	tid   int32

	noCPU, inlined, backwards, count uint64

	waits  *perfSample // its cookie was not given yet
	cookie events.UserUnwindCookieRecord
	stack  events.UserUnwindStackRecord
	data   []byte
}

const batchCount = 3

// looksPerf reports whether line is the head of a sample.
func looksPerf(line []byte, _ bool) bool {
	var h perfHeader
	return !isRemark(line) && h.parse(line)
}

func newPerfText(b *base, in *stream, _ location) (importer, error) {
	table, err := event.NewTable()
	if err != nil {
		panic("capture: invariant: an empty table of types: " + err.Error())
	}
	for _, t := range []*event.Type{events.UserUnwindCookie.Type, events.UserUnwindStack.Type} {
		if err := table.Add(t); err != nil {
			panic("capture: invariant: an empty table takes two types: " + err.Error())
		}
	}
	b.types = newTypeIndex(table)
	f := &perfText{
		base: b, name: in.name, emit: newSamples(b, "perf"),
		batches: make(chan *perfBatch, batchCount), free: make(chan *perfBatch, batchCount),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range batchCount {
		f.free <- &perfBatch{}
	}
	go f.parse(in)
	return f, nil
}

// parse runs the reader and parses its blocks until the end, an error or stop.
func (f *perfText) parse(in io.Reader) {
	defer close(f.done)
	defer close(f.batches)
	blocks := make(chan perfBlock, 1)
	memory := make(chan []byte, blockCount)
	for range blockCount {
		memory <- nil // the blockReader allocates it when it needs it
	}
	quit := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&blockReader{in: in, name: f.name}).run(blocks, memory, quit)
	}()
	defer func() { close(quit); <-ended }()
	p := newPerfParser(f.base, f.name)
	for b := range blocks {
		var batch *perfBatch
		select {
		case batch = <-f.free:
		case <-f.stop:
			return
		}
		p.block(b, batch)
		memory <- b.memory
		failed := batch.err != nil
		select {
		case f.batches <- batch:
		case <-f.stop:
			return
		}
		if failed {
			return
		}
	}
}

func (f *perfText) next(r *record.Record) error {
	if f.emit.stack(r) {
		return nil
	}
	if s := f.waits; s != nil {
		f.waits = nil
		f.cookie.Cookie = s.cookie
		f.unwind(r, s, events.UserUnwindCookie.Type)
		f.data = events.UserUnwindCookie.Append(f.data[:0], r.Common, &f.cookie)
		r.Data = f.data
		return nil
	}
	for f.batch == nil || f.i == len(f.batch.samples) {
		if f.batch != nil {
			if f.batch.err != nil {
				return f.batch.err
			}
			f.free <- f.batch
		}
		var ok bool
		if f.batch, ok = <-f.batches; !ok {
			f.batch = nil
			return io.EOF
		}
		f.begin(f.batch)
	}
	s := &f.batch.samples[f.i]
	f.i++
	f.count++
	for len(f.clock) <= int(s.cpu) {
		f.clock = append(f.clock, 0)
	}
	now := &f.clock[s.cpu]
	if s.time < *now {
		f.backwards++
	}
	*now = max(*now, s.time)
	if s.comm != f.comm || s.tid != f.tid {
		f.comms.set(s.tid, s.comm)
		f.comm, f.tid = s.comm, s.tid
	}
	if s.deferred {
		f.stack.Cookie, f.stack.Stack = s.cookie, s.user[:min(len(s.user), maxUnwound)]
		f.unwind(r, s, events.UserUnwindStack.Type)
		f.data = events.UserUnwindStack.Append(f.data[:0], r.Common, &f.stack)
		r.Data = f.data
		return nil
	}
	if s.cookie != 0 {
		f.waits = s
	}
	if err := f.emit.start(r, s.event, int(s.cpu), s.tid, *now, s.period, s.kernel, s.user); err != nil {
		return fileError(f.name, "event "+s.event, err)
	}
	return nil
}

// maxUnwound is how many addresses of an unwound stack are kept.
//
// Kernel: UNWIND_MAX_ENTRIES, kernel/unwind/deferred.c.
const maxUnwound = 510

// unwind makes r a record of ftrace's about a user stack that is unwound later, without its
// data. With it a cookie of perf looks like one of ftrace.
func (f *perfText) unwind(r *record.Record, s *perfSample, t *event.Type) {
	*r = record.Record{CPU: int(s.cpu), Time: f.clock[s.cpu], Type: t, Common: event.Common{Type: uint16(t.ID), PID: s.tid}}
}

// begin adds the counts of a batch to the capture's.
func (f *perfText) begin(b *perfBatch) {
	f.i = 0
	f.noCPU += b.noCPU
	f.inlined += b.inlined
	if b.why != nil || b.bytes > 0 {
		f.info.skip(b.why, b.skipped, b.bytes, 0)
	}
}

func (f *perfText) caveats() []string {
	out := []string{sizeCaveat(), "perf script: kernel frames are those of [kernel.kallsyms], of a [module] or with an address of the upper half; " +
		"an address below 2^40 counts with its file, so processes that map a file differently share stacks, as they would not in a kernel"}
	if f.noCPU > 0 {
		out = append(out, fmt.Sprintf("%d of %d samples do not tell their CPU: they are taken for samples of CPU 0", f.noCPU, f.count))
	}
	if f.inlined > 0 {
		out = append(out, fmt.Sprintf("%d inlined frames left out: a kernel records no such frames", f.inlined))
	}
	if f.backwards > 0 {
		out = append(out, fmt.Sprintf("%d times before the time of an earlier sample of the same CPU: raised to it", f.backwards))
	}
	return append(out, f.frames.caveats("symbols without offset")...)
}

// close stops the goroutines and waits for them. A read that is blocked has to end
// first.
func (f *perfText) close() error {
	close(f.stop)
	for range f.batches {
	}
	<-f.done
	return nil
}
