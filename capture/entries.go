package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ftracelab/tracer/output"
)

// entries gives the records of one CPU as they lie on its pages, for the printer.
// It is an output.Batcher.
type entries struct {
	c     *cpuPages
	page  []output.Entry // what is left of those last read
	batch []output.Entry // the memory of page
	begun bool           // a page was opened
	old   uint64         // entries from before the buffer's reset
	ids   *expander      // nil: they are to stay
	err   error
}

// Peek shows the next record.
func (e *entries) Peek() (output.Entry, bool) {
	if len(e.page) == 0 {
		e.read()
	}
	if len(e.page) == 0 {
		return output.Entry{}, false
	}
	return e.page[0], true
}

// Next takes the next record.
func (e *entries) Next() (output.Entry, bool) {
	head, ok := e.Peek()
	if ok {
		e.page = e.page[1:]
	}
	return head, ok
}

// Batch takes the records up to the end of a page.
func (e *entries) Batch() []output.Entry {
	if len(e.page) == 0 {
		e.read()
	}
	batch := e.page
	e.page = nil
	return batch
}

// read reads the next page, or what is left of it. What was lost before the first
// page is in the counts of the header; a later loss stands before the record behind
// it.
//
// Kernel: tracing_open reads in place and forgets losses; trace_pipe_raw has noted
// the overrun on the first page that was taken.
func (e *entries) read() {
	c, lost := e.c, uint64(0)
	e.batch = e.batch[:0]
	for e.err == nil {
		item, gap, err := c.item() // and where it lies, which errors tell
		switch {
		case err != nil:
			e.err = err
		case gap && e.begun:
			lost = addLost(lost, c.rec.Count)
		case gap:
		case c.done:
			return
		default:
			e.begun = true
			e.batch = append(e.batch, output.Entry{CPU: c.cpu, Time: item.Time, Data: item.Data, Lost: lost})
			e.batch = c.page.AppendData(e.batch, c.cpu)
			e.page, e.err = e.batch, e.ids.expand(e.batch)
			c.f.info.Events += uint64(len(e.batch))
			return
		}
	}
}

// addLost adds two numbers of lost events, of which one may not be known.
func addLost(a, b uint64) uint64 {
	const unknown = ^uint64(0)
	if a == unknown || b == unknown {
		return unknown
	}
	return a + b
}

// Merge gives the records in the order of time, those of one CPU if cpu ≥ 0. What
// it gives it gives once.
func (t *Trace) Merge(cpu int) (*output.Merge, error) {
	if cpu >= t.cpus {
		return nil, fileError(t.shown, fmt.Sprintf("no CPU %d: there are 0…%d", cpu, t.cpus-1), fs.ErrNotExist)
	}
	var readers []output.Reader
	for _, r := range t.readers {
		r.skip(t.began)
		if cpu < 0 || r.c.cpu == cpu {
			readers = append(readers, r)
		}
	}
	return output.NewMerge(readers...), nil
}

// skip takes off the entries that are older than what the buffer shows: a latency
// tracer's is not emptied between two latencies.
//
// Kernel: tracing_iter_reset, kernel/trace/trace.c.
func (e *entries) skip(began uint64) {
	for {
		if head, ok := e.Peek(); !ok || head.Time >= began {
			return
		}
		e.page = e.page[1:]
		e.old++
	}
}

// failure is what ended the reading of a CPU before its last page.
func (t *Trace) failure() error {
	var err error
	for _, r := range t.readers {
		err = errors.Join(err, r.err)
	}
	return err
}

// timeStart is when the buffer was reset, for times that are relative to it.
func (t *Trace) timeStart(o output.Options) uint64 {
	if t.beganKnown {
		return t.began
	}
	if o&(output.LatencyFormat|output.DisplayGraph) == 0 {
		return 0
	}
	first := ^uint64(0)
	for _, r := range t.readers {
		if e, ok := r.Peek(); ok {
			first = min(first, e.Time)
		}
	}
	return first
}

// counts are those of the header: the kernel's, or with a CPU of which there is no
// stats.cpuN what its pages hold, which are then read twice.
func (t *Trace) counts(ctx context.Context) (n output.Counts, err error) {
	known := map[int]bool{}
	for _, s := range t.info.Stats {
		known[s.CPU] = true
		held := s.Entries
		if t.dat != nil { // its statistics are of the time when the pages had been read
			held += s.ReadEvents
		}
		t.addCounts(&n, s.CPU, held, s.Overrun)
	}
	for _, c := range t.folder.cpus {
		if known[c.cpu] {
			continue
		}
		held, lost, err := c.count(ctx)
		if err != nil {
			return n, err
		}
		t.addCounts(&n, c.cpu, held, lost)
	}
	return n, nil
}

// addCounts adds those of a CPU; with entries that were skipped it forgets the lost.
//
// Kernel: get_total_entries_cpu, kernel/trace/trace.c.
func (t *Trace) addCounts(n *output.Counts, cpu int, held, lost uint64) {
	for _, r := range t.readers {
		if r.c.cpu == cpu && r.old > 0 {
			held, lost = held-min(held, r.old), 0
		}
	}
	n.Entries += held
	n.Written += held + lost
}

// count reads the pages of a CPU from a file of its own.
func (c *cpuPages) count(ctx context.Context) (held, lost uint64, err error) {
	f := &folder{base: &base{opt: c.f.opt, info: Info{SubbufSize: c.f.info.SubbufSize}}, loc: c.f.loc}
	twin := &cpuPages{f: f, cpu: c.cpu, file: c.file, shown: c.shown}
	if twin.in, err = f.openPages(twin, true, nil); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, twin.in.Close()) }()
	for {
		for _, _, ok := twin.page.NextData(); ok; _, _, ok = twin.page.NextData() {
			held++
		}
		_, gap, err := twin.item()
		switch {
		case ctx.Err() != nil:
			return held, lost, ctx.Err()
		case err != nil:
			return held, lost, nil // reported when the text comes there
		case gap:
			if n := twin.rec.Count; n != ^uint64(0) {
				lost += n
			}
		case twin.done:
			return held, lost, nil
		default:
			held++
		}
	}
}
