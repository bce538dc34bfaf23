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
	page  []output.Entry // the entries of the page read last that were not taken yet
	batch []output.Entry // the memory of page
	begun bool           // a record was read
	old   uint64         // how many entries are older than the buffer's reset
	ids   *expander      // nil: stack ids stay as they are
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

// read reads the next page, or what is left of the present one. Events that were lost
// before the first record are only in the counts of the header. Events lost later are
// told by the record that follows the gap.
//
// Kernel: tracing_open reads the buffer in place and forgets what was lost before that;
// trace_pipe_raw, from which these pages come, has noted the overrun on the first page
// that it took.
//
// Departure: a kernel's file trace has no such line, because it forgets what was lost before
// it is opened, also between two reads of trace_pipe_raw. The pages tell it, so the text does.
func (e *entries) read() {
	c, lost := e.c, uint64(0)
	e.batch = e.batch[:0]
	for e.err == nil {
		item, gap, err := c.item() // also moves c to where the record lies, which errors tell
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

// addLost adds two numbers of lost events. The sum is unknown if either of them is.
func addLost(a, b uint64) uint64 {
	const unknown = ^uint64(0)
	if a == unknown || b == unknown {
		return unknown
	}
	return a + b
}

// Merge gives the records of all CPUs in the order of time, or only those of one CPU if
// cpu ≥ 0. Each record is given once.
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

// skip drops the entries that are older than began. A latency tracer's buffer is not
// emptied between two latencies, so it holds entries from before the one that is shown.
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

// failure gives the error that ended the reading of a CPU before its last page.
func (t *Trace) failure() error {
	var err error
	for _, r := range t.readers {
		err = errors.Join(err, r.err)
	}
	return err
}

// timeStart is the time from which relative times count: when the buffer was reset, or,
// if that is not known, the first entry.
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

// counts gives the numbers of entries for the header. They come from the kernel's
// stats.cpuN. For a CPU without that file its pages are counted, which means that they
// are read twice.
func (t *Trace) counts(ctx context.Context) (n output.Counts, err error) {
	known := map[int]bool{}
	for _, s := range t.info.Stats {
		known[s.CPU] = true
		held := s.Entries
		if t.dat != nil { // trace-cmd took its statistics after it had read the pages
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

// addCounts adds the counts of a CPU. Where entries of that CPU were skipped, the lost
// ones do not count.
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

// count counts what the pages of a CPU hold. It opens the file once more for that.
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
			return held, lost, nil // the error is reported when the text reaches this page
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
