package capture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"

	"ftracelab/budget"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
)

const (
	maxSubbuf     = 1 << 20 // the kernel's write index cannot count further
	defaultSubbuf = 4096
	maxCPUs       = 8192 // the kernel's largest NR_CPUS
)

var rawName = regexp.MustCompile(`^cpu(\d+)\.raw(?:\.gz|\.zst)?$`)

// folder reads a capture folder: the pages of all CPUs, merged by time in the way of
// the file trace.
type folder struct {
	*base
	loc     location
	cpus    []*cpuPages // sorted by CPU
	formats *formats
	kinds   []recordKind
	cur     *cpuPages // the CPU whose record was given last
}

// recordKind says how records with a certain type id are read.
type recordKind struct {
	typ        *event.Type
	kind       record.Kind
	least      int          // bytes up to the end of the last field: no record is shorter
	size, list *event.Field // of a stack: its number of addresses (nil: they end at a zero), and the addresses
}

// newFolder opens a folder. With types, the types of all events are read at once;
// otherwise each is read when it is asked for.
func newFolder(b *base, l location, types bool) (_ *folder, err error) {
	f := &folder{base: b, loc: l}
	kernel := findKernel(l, l.name)
	f.formats, err = kernel.formats(l, l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fileError(l.shown, "no formats_all.txt here, in static or in the folders above: name the kernel's folder", nil)
	}
	if err == nil && types {
		err = f.readTypes()
	}
	if err != nil {
		return nil, err
	}
	if err := b.setSymbols(kernel); err != nil {
		return nil, err
	}
	if err := b.savedCmdlines(l, l.name); err != nil {
		return nil, err
	}
	if b.info.SubbufSize, err = f.subbufSize(kernel); err != nil {
		return nil, err
	}
	if err := f.clock(); err != nil {
		return nil, err
	}
	return f, f.openCPUs()
}

// clock finds out whether the times are in nanoseconds: they are if nothing tells the clock.
func (f *folder) clock() error {
	for _, name := range []string{"trace_clock", "state.txt"} {
		text, err := readAll(f.loc.fsys, path.Join(f.loc.name, name), path.Join(f.loc.shown, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range bytes.Lines(text) {
			clock, ok := bytes.CutPrefix(line, []byte("trace_clock:"))
			if ok == (name == "state.txt") && countsOther(string(bytes.TrimSpace(clock))) {
				f.info.Ticks = chosen(string(bytes.TrimSpace(clock)))
			}
		}
	}
	return nil
}

// readTypes reads the types of all events.
func (f *folder) readTypes() error {
	table, err := f.formats.table()
	if err != nil {
		return err
	}
	if err := addFormatless(table); err != nil {
		return fileError(f.loc.shown, "formats", err)
	}
	f.types = newTypeIndex(table)
	f.kinds, err = recordKinds(table, f.loc.shown)
	return err
}

// addFormatless adds the type of the blk tracer's records, which has no format file.
//
// Kernel: enum trace_type, kernel/trace/trace.h.
func addFormatless(table *event.Table) error {
	if table.ByID(events.Blk.ID) != nil {
		return nil
	}
	return table.Add(events.Blk.Type)
}

// recordKinds indexes the types by id.
func recordKinds(table *event.Table, shown string) ([]recordKind, error) {
	var kinds []recordKind
	for _, t := range table.All() {
		if t.ID < 0 || t.ID > 0xffff {
			return nil, fileError(shown, fmt.Sprintf("event %s has the impossible id %d", t.Name, t.ID), nil)
		}
		if t.ID >= len(kinds) {
			kinds = append(kinds, make([]recordKind, t.ID+1-len(kinds))...)
		}
		k := recordKind{typ: t, least: event.CommonSize}
		for _, f := range t.Fields {
			k.least = max(k.least, f.Offset+f.Size)
		}
		if t.System == "ftrace" {
			switch t.Name {
			case "kernel_stack":
				k.kind, k.size, k.list = record.KernelStack, t.Field("size"), t.Field("caller")
			case "user_stack":
				k.kind, k.list = record.UserStack, t.Field("caller")
			}
		}
		if k.kind != record.Event && (k.list == nil || k.kind == record.KernelStack && k.size == nil) {
			return nil, fileError(shown, "the format of "+t.Name+" lacks a field", nil)
		}
		kinds[t.ID] = k
	}
	return kinds, nil
}

// subbufSize finds the size of a page: the capture's own note if it has one, else what
// the kernel's header_page tells.
func (f *folder) subbufSize(kernel kernelFiles) (int, error) {
	text, err := readAll(f.loc.fsys, path.Join(f.loc.name, "state.txt"), path.Join(f.loc.shown, "state.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		value, ok := bytes.CutPrefix(line, []byte("buffer_subbuf_size_kb:"))
		if !ok {
			continue
		}
		kb, ok := parseUint(bytes.TrimSpace(value))
		if !ok || kb == 0 || kb > maxSubbuf>>10 {
			return 0, fileError(path.Join(f.loc.shown, "state.txt"), "impossible "+excerpt(line), nil)
		}
		return int(kb) << 10, nil
	}
	size, err := kernel.headerPageSize()
	if size == 0 {
		size = defaultSubbuf
	}
	return size, err
}

// openCPUs opens every cpuN.raw.
func (f *folder) openCPUs() (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	entries, err := fs.ReadDir(f.loc.fsys, f.loc.name)
	if err != nil {
		return fileError(f.loc.shown, "cannot list", cause(err))
	}
	for _, e := range entries {
		m := rawName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		cpu, err := strconv.Atoi(m[1])
		if err != nil || cpu >= maxCPUs {
			return fileError(path.Join(f.loc.shown, e.Name()), "no such CPU", nil)
		}
		f.cpus = append(f.cpus, &cpuPages{cpu: cpu, file: e.Name(), shown: path.Join(f.loc.shown, e.Name()), f: f})
	}
	slices.SortFunc(f.cpus, func(a, b *cpuPages) int { return a.cpu - b.cpu })
	switch n := len(f.cpus); {
	case n == 0:
		return fileError(f.loc.shown, "a folder without cpuN.raw pages", nil)
	}
	if err := f.holdPages(); err != nil {
		return err
	}
	for i, c := range f.cpus {
		if i > 0 && f.cpus[i-1].cpu == c.cpu {
			return fileError(c.shown, "the pages of this CPU are here twice: "+f.cpus[i-1].file, nil)
		}
		stats, ok, err := readStats(f.loc, f.loc.name, c.cpu)
		if err != nil {
			return err
		}
		if ok {
			f.info.Stats = append(f.info.Stats, stats)
		}
		if c.in, err = f.openPages(c, len(f.cpus) > 16, f.loc.fsys.memory); err != nil {
			return err
		}
		// The second reader, which Pages opens, gets its memory here as well. If it could
		// fail for want of memory, timing would decide which of the two readers fails.
		held := func() int64 { return c.in.held }
		if err := (&stream{name: c.shown}).hold(held, f.loc.fsys.memory); err != nil {
			return err
		}
	}
	return nil
}

// holdPages asks for the memory that merging the CPUs needs, whatever their files hold.
// That is a buffer of a page for each of the two readers (see openCPUs), and, because a
// page may be turned into text, one entry for each 16 bytes of it.
func (f *folder) holdPages() error {
	n := len(f.cpus)
	each := 2*(max(bufferSize(n > 16), f.info.SubbufSize)+cpuPagesOwn) + 8*f.info.SubbufSize
	if err := f.loc.fsys.memory.Take(int64(n)*int64(each), "merging their pages"); err != nil {
		return fileError(f.loc.shown, fmt.Sprintf("%d CPUs with sub-buffers of %d bytes", n, f.info.SubbufSize), err)
	}
	return nil
}

// cpuPagesOwn is the memory that a CPU takes besides its buffers.
const cpuPagesOwn = 4 << 10

// openPages opens the file of a CPU; many says that it is one of many. A nil budget
// means that the memory has been asked for before.
func (f *folder) openPages(c *cpuPages, many bool, memory *budget.Budget) (*stream, error) {
	s, err := openStream(f.loc.fsys, path.Join(f.loc.name, c.file), c.shown, many, memory)
	if err != nil {
		return nil, err
	}
	if b, ok := s.reader.(*bufio.Reader); ok && b.Size() < f.info.SubbufSize {
		s.reader = bufio.NewReaderSize(b, f.info.SubbufSize)
	}
	return s, nil
}

// next gives the earliest record of all CPUs. If several have the same time, the lowest
// CPU comes first.
func (f *folder) next(r *record.Record) error {
	if f.cur == nil {
		for _, c := range f.cpus {
			if err := c.advance(); err != nil {
				return err
			}
		}
	} else if err := f.cur.advance(); err != nil {
		return err
	}
	var first *cpuPages
	for _, c := range f.cpus {
		if !c.done && (first == nil || c.rec.Time < first.rec.Time) {
			first = c
		}
	}
	if first == nil {
		return io.EOF
	}
	f.cur = first
	*r = first.rec
	return nil
}

// pages opens the pages of a CPU a second time.
func (f *folder) pages(cpu int) io.Reader {
	i, ok := slices.BinarySearchFunc(f.cpus, cpu, func(c *cpuPages, cpu int) int { return c.cpu - cpu })
	if !ok {
		return nil
	}
	return &pageImages{f: f, c: f.cpus[i]}
}

func (f *folder) caveats() []string {
	if f.info.Ticks == "" {
		return nil
	}
	return []string{"the times are those of the clock " + f.info.Ticks + ", which does not count nanoseconds: nothing is said in seconds"}
}

func (f *folder) close() error {
	var err error
	for _, c := range f.cpus {
		if c.in != nil {
			err = errors.Join(err, c.in.Close())
			c.in = nil
		}
	}
	return err
}

// pageImages reads a CPU's images from the file, and closes it at its end.
type pageImages struct {
	f  *folder
	c  *cpuPages
	in *stream
	at error
}

func (p *pageImages) Read(b []byte) (int, error) {
	if p.at != nil {
		return 0, p.at
	}
	if p.in == nil {
		if p.in, p.at = p.f.openPages(p.c, true, nil); p.at != nil {
			return 0, p.at
		}
	}
	n, err := p.in.Read(b)
	if err != nil {
		p.at = err
		if cerr := p.in.Close(); cerr != nil && err == io.EOF {
			p.at = cerr
		}
	}
	return n, p.at
}
