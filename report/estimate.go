package report

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ftracelab/budget"
	"ftracelab/report/join"
	"ftracelab/report/summary"
	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// MaxBufferSizeKB is the largest buffer of a CPU. An estimate keeps 16 bytes for each of
// its sub-buffers.
const MaxBufferSizeKB = 4 << 20

// maxCPUs limits what an estimate keeps in memory for CPUs: some 30 KB for each and each
// design.
const maxCPUs = 1024

var errRange = errors.New("out of range")

// Options say what to estimate. The zero value is useful.
type Options struct {
	Path, Format string // for Report.Input

	BufferSizeKB int  // per CPU, like buffer_size_kb; 0 means 1408, the kernel's default
	SubbufSize   int  // in bytes, with its header; 0 means 4096
	NoOverwrite  bool // the buffer keeps the oldest events instead of the newest

	Bits int    // the bits of all maps, 10…18; 0: each map has its recommended size
	Seed uint32 // the seed of the maps' hash

	// Designs are the designs to compare; the first one is the base. nil: full-stacks,
	// stackmap and no-stacks and, if the first records have user stacks, also
	// stackmap+user and deferred.
	Designs []record.Design

	Plan Plan // what else is asked, see [Capacity]

	TopStacks int          // how many stacks of each kind to list; 0 means 10, less than 0 none
	Types     *event.Table // the capture's types, whose ids are used; nil: it has none
	Symbols   event.Symbols

	// Pages gives the original sub-buffers of a CPU, one after the other, each
	// of PagesSize bytes (0: SubbufSize). They are re-created from the records,
	// whichever designs are compared, and compared with the original. If Pages
	// is nil, or returns nil for a CPU, there is nothing to compare. It is
	// called from another goroutine than the source.
	Pages     func(cpu int) io.Reader
	PagesSize int

	// Ticks says that the times count something other than nanoseconds, so that nothing can
	// be said in seconds.
	Ticks bool

	// Memory limits what is kept for each CPU and for unique stacks; nil is a budget of
	// the default size.
	Memory *budget.Budget

	// Summary, if it is not nil, is overwritten with a summary of the source. Machine
	// names its machine there; empty: the last element of Path does.
	Summary *summary.Summary
	Machine string

	// Joined, if the source has user stacks that were unwound later and are joined to their
	// events, says how many were, and why the others were not.
	Joined *join.Counts

	// Caveats are what the caller knows about the source and a reader should know as
	// well.
	Caveats []string
}

// Caveater is a source that can say, once it has been read, what its records lack
// or had to assume.
type Caveater interface {
	Caveats() []string
}

// Conditioner is a source whose records are right only if something is true that it
// cannot know. Once it has been read, it says what that is, as a clause that follows
// the word "if"; empty: there is no such condition. The answer begins with that clause.
type Conditioner interface {
	Condition() string
}

// CPUNamer is a source that may not know on which CPUs its records were made. Once it
// has been read, it says whether it knows. If it does not, all records have CPU 0.
type CPUNamer interface {
	NamesCPUs() bool
}

// nrPages is how many sub-buffers a CPU gets with buffer_size_kb.
//
// Kernel: ring_buffer_resize, kernel/trace/ring_buffer.c.
func (o *Options) nrPages() int {
	room := o.SubbufSize - ringbuf.PageHeaderSize
	return max(2, (o.BufferSizeKB*1024+room-1)/room)
}

// Validate returns an error that names an option with which nothing can be
// estimated.
func (o Options) Validate() error { return o.complete() }

// complete fills in the defaults and refuses impossible options.
func (o *Options) complete() error {
	if o.BufferSizeKB == 0 {
		o.BufferSizeKB = 1408
	}
	if o.SubbufSize == 0 {
		o.SubbufSize = 4096
	}
	if o.PagesSize == 0 {
		o.PagesSize = o.SubbufSize
	}
	if o.TopStacks == 0 {
		o.TopStacks = 10
	}
	switch {
	case o.BufferSizeKB < 0 || o.BufferSizeKB > MaxBufferSizeKB:
		return fmt.Errorf("report: a buffer of %d KB: %w", o.BufferSizeKB, errRange)
	case !isSubbufSize(o.SubbufSize):
		return fmt.Errorf("report: sub-buffers of %d bytes: %w", o.SubbufSize, errRange)
	case !isSubbufSize(o.PagesSize):
		return fmt.Errorf("report: the capture's sub-buffers of %d bytes: %w", o.PagesSize, errRange)
	case len(o.Machine) > summary.MaxName:
		return fmt.Errorf("report: the name of a machine has %d bytes, %d are the most", len(o.Machine), summary.MaxName)
	case o.Bits != 0 && (o.Bits < stackmap.MinBits || o.Bits > stackmap.MaxBits):
		return fmt.Errorf("report: %d bits: %w (%d to %d)", o.Bits, errRange, stackmap.MinBits, stackmap.MaxBits)
	}
	return o.Plan.validate()
}

// isSubbufSize reports whether a kernel could have sub-buffers of n bytes.
func isSubbufSize(n int) bool { return n >= 4096 && n <= 1<<20 && n&(n-1) == 0 }

// Estimate reads src to its end and reports what each design would have made of
// it. Memory is bounded whatever the source holds; the result depends on the
// source and the options alone.
//
// It fails if the source does. It also fails if a reader does not find on the
// pages the bytes that the writer says it has written, because then no figure
// could be believed. It ends early with the error of ctx.
func Estimate(ctx context.Context, src record.Source, opt Options) (*Report, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	memory := budget.OrDefault(opt.Memory)
	checked := &checkedSource{src: src, ctx: ctx, lanes: memory.Part(2), each: opt.laneBytes(), designs: fewestDesigns}
	rd := &reader{src: checked}
	first := newBatch()
	if err := rd.fill(first); err != nil {
		return nil, err
	}
	users := opt.Joined != nil || hasUserStacks(first)
	if opt.Designs == nil {
		opt.Designs = defaultDesigns(users, opt.Bits, opt.Seed)
	}
	if len(opt.Designs) == 0 {
		return nil, errors.New("report: no design to estimate")
	}
	if err := checked.compare(len(opt.Designs)); err != nil {
		return nil, err
	}
	run, err := newRun(ctx, &opt, memory.Part(1))
	if err != nil {
		return nil, err
	}
	if err := pump(ctx, rd, first, run.consumers()); err != nil {
		return nil, err
	}
	for _, w := range run.writers {
		if err := w.finish(); err != nil {
			return nil, err
		}
	}
	if run.witness != nil {
		if err := run.witness.finish(); err != nil {
			return nil, err
		}
	}
	if c, ok := src.(Caveater); ok {
		opt.Caveats = append(opt.Caveats[:len(opt.Caveats):len(opt.Caveats)], c.Caveats()...)
	}
	if c, ok := src.(CPUNamer); ok {
		run.cpuless = !c.NamesCPUs()
	}
	if c, ok := src.(Conditioner); ok {
		run.condition = c.Condition()
	}
	return run.report()
}

// run is one Estimate: a census, a writer per design and, where the capture has pages,
// a witness.
type run struct {
	ctx     context.Context
	opt     *Options
	census  *census
	users   *userAccount
	writers []*writer
	studies []*study
	witness *witness // nil: the capture has no pages to compare with

	condition string // the condition of the source, see Conditioner
	cpuless   bool   // the source does not name CPUs
}

func newRun(ctx context.Context, opt *Options, memory *budget.Budget) (*run, error) {
	r := &run{ctx: ctx, opt: opt, census: newCensus(opt.Types, memory), users: newUserAccount()}
	r.census.ticks = opt.Ticks
	for _, d := range opt.Designs {
		w, err := newWriter(d, opt)
		if err != nil {
			return nil, err
		}
		r.writers = append(r.writers, w)
	}
	var err error
	if opt.Pages != nil {
		r.witness, err = newWitness(opt)
	}
	return r, err
}

func (r *run) consumers() []consumer {
	cs := []consumer{r.census, r.users}
	for _, w := range r.writers {
		cs = append(cs, w)
	}
	if r.witness != nil {
		cs = append(cs, r.witness)
	}
	return cs
}

// defaultDesigns gives the designs that are compared if Options name none.
func defaultDesigns(userStacks bool, bits int, seed uint32) []record.Design {
	names := []string{"full-stacks", "stackmap", "no-stacks"}
	if userStacks {
		names = []string{"full-stacks", "stackmap", "stackmap+user", "deferred", "no-stacks"}
	}
	var ds []record.Design
	for _, name := range names {
		d, err := record.NamedDesign(name, bits, seed)
		if err != nil {
			panic("report: invariant: " + err.Error())
		}
		ds = append(ds, d)
	}
	return ds
}

func hasUserStacks(b *batch) bool {
	for i := range b.records {
		if b.records[i].Kind == record.UserStack {
			return true
		}
	}
	return false
}

// checkedSource refuses records that would need memory without limit. If there is no
// memory for the lanes of a CPU, it refuses the records of that CPU before the lanes
// are made.
type checkedSource struct {
	ctx context.Context
	src record.Source
	n   uint64

	lanes   *budget.Budget
	each    int64 // how many bytes a lane takes
	designs int   // how many designs are compared, as far as that is known
	seen    [maxCPUs]bool
	cpus    int // how many CPUs were seen
}

// fewestDesigns is the smallest number of designs that are compared.
const fewestDesigns = 3

// laneBytes is the memory that a lane takes: its ring, its counts, and what it keeps
// about the pages of a buffer of usual size.
func (o *Options) laneBytes() int64 {
	return int64(lanePages(o.SubbufSize)*o.SubbufSize) + 8<<10
}

// compare sets the number of designs.
func (c *checkedSource) compare(designs int) error {
	more := max(0, designs-c.designs)
	c.designs += more
	return c.take(c.cpus * more)
}

func (c *checkedSource) take(lanes int) error {
	if err := c.lanes.Take(int64(lanes)*c.each, "ring buffers"); err != nil {
		return fmt.Errorf("report: %d designs on %d CPUs: %w", c.designs, c.cpus, err)
	}
	return nil
}

func (c *checkedSource) Next(r *record.Record) error {
	if c.n%batchRecords == 0 {
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	if err := c.src.Next(r); err != nil {
		return err
	}
	c.n++
	switch {
	case r.CPU < 0 || r.CPU >= maxCPUs:
		return fmt.Errorf("report: record %d: cpu %d: %w (0 to %d)", c.n, r.CPU, errRange, maxCPUs-1)
	case !c.seen[r.CPU]:
		c.seen[r.CPU] = true
		c.cpus++
		if err := c.take(c.designs); err != nil {
			return err
		}
	}
	switch {
	case len(r.Data) > 1<<20 || len(r.Stack) > 1<<17:
		return fmt.Errorf("report: record %d is larger than any sub-buffer: %w", c.n, errRange)
	}
	return nil
}
