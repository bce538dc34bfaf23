package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"ftracelab/budget"
	"ftracelab/tracer/tracedat"
)

// Dat is a capture together with everything that a trace.dat holds of it.
type Dat struct {
	Meta    *tracedat.Meta
	Sources []tracedat.Source // the buffers; a folder has only one, the top buffer

	folders []*folder
	dat     *traceDat // nil: the capture is a folder
}

// Close closes the pages.
func (d *Dat) Close() error {
	var err error
	for _, f := range d.folders {
		err = errors.Join(err, f.close())
	}
	if d.dat != nil {
		err = errors.Join(err, d.dat.Close())
	}
	return err
}

// Skipped tells what KeepGoing left out; nil if nothing was. Call it when the Sources
// have been read.
func (d *Dat) Skipped() error {
	var errs []error
	for _, f := range d.folders {
		errs = append(errs, f.info.Skipped())
	}
	return errors.Join(errs...)
}

// NothingLeft is an error if KeepGoing skipped everything that the capture holds. It is
// nil if anything could be read, and if the capture is empty.
func (d *Dat) NothingLeft() error {
	var first error
	for _, f := range d.folders {
		err := f.info.NothingLeft()
		if f.info.Entries() > 0 {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// OpenDat opens a folder or a trace.dat in order to write it as a trace.dat. The pages
// are read from the Sources, once, and are decoded on the way. A page that cannot be
// decoded is an error. With Options.KeepGoing it is left out, and the next page of its
// CPU says that events were lost before it.
func OpenDat(name string, opt Options) (_ *Dat, err error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	l, err := locate(name, opt)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(l.fsys, l.name)
	if err != nil {
		return nil, fileError(l.shown, "cannot open", cause(err))
	}
	d := &Dat{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if info.IsDir() {
		return d, d.fromFolder(l, opt)
	}
	if d.dat, err = openTraceDat(l); err != nil {
		return nil, err
	}
	if d.dat == nil {
		return nil, fileError(l.shown, "neither a trace.dat nor a folder with cpuN.raw pages", nil)
	}
	return d, d.fromFile(l, opt)
}

// pages opens a capture folder, or something with the same layout.
func (d *Dat) pages(l location, opt Options, format string) (*folder, error) {
	b := newBase(l, opt, format)
	f, err := newFolder(&b, l, true)
	if err != nil {
		return nil, err
	}
	d.folders = append(d.folders, f)
	return f, nil
}

// fromFile takes everything from a trace.dat.
func (d *Dat) fromFile(l location, opt Options) error {
	d.Meta = d.dat.CanonicalMeta()
	for i := range d.dat.Buffers {
		b := &d.dat.Buffers[i]
		s := tracedat.Source{Name: b.Name, Clock: b.Clock, Text: d.dat.Text(b)}
		if len(b.CPUs) > 0 {
			in := d.dat.location(b, l)
			if b.Name != "" {
				in.shown = path.Join(l.shown, b.Name)
			}
			f, err := d.pages(in, opt, FormatTraceDat)
			if err != nil {
				return err
			}
			s.CPUs = f.decoded()
		}
		d.Sources = append(d.Sources, s)
	}
	return nil
}

// fromFolder takes everything from a capture folder.
func (d *Dat) fromFolder(l location, opt Options) error {
	f, err := d.pages(l, opt, FormatFolder)
	if err != nil {
		return err
	}
	d.Meta = &tracedat.Meta{}
	if err := d.meta(l, f); err != nil {
		return err
	}
	s := tracedat.Source{CPUs: f.decoded()}
	clock, err := optional(l, "trace_clock")
	if err != nil {
		return err
	}
	if s.Clock = tracedat.ChosenClock(string(clock)); len(clock) > 0 {
		d.note(tracedat.OptionTraceClock, clock)
	}
	for _, c := range f.cpus {
		d.Meta.CPUs = max(d.Meta.CPUs, c.cpu+1)
		stats, err := optional(l, fmt.Sprintf("stats.cpu%d", c.cpu))
		if err != nil {
			return err
		}
		if len(stats) > 0 {
			d.note(tracedat.OptionCPUStat, fmt.Appendf(nil, "CPU: %d\n%s", c.cpu, stats))
		}
	}
	d.Sources = []tracedat.Source{s}
	return nil
}

func (d *Dat) note(id uint16, text []byte) {
	d.Meta.Options = append(d.Meta.Options, tracedat.Option{ID: id, Data: append(bytes.Clone(text), 0)})
}

// meta collects what the kernel's files tell. The formats are printed from their parsed
// form, which gives the same text as was read.
func (d *Dat) meta(l location, f *folder) error {
	kernel := findKernel(l, l.name)
	m := d.Meta
	m.HeaderPage = tracedat.HeaderPage(f.info.SubbufSize)
	systems := map[string]int{}
	for _, t := range f.types.table.All() {
		switch {
		case t.System == "ftrace" && t.Name == "blk": // the kernel has no format file for it
		case t.System == "ftrace":
			m.Ftrace = append(m.Ftrace, t.Format())
		default:
			if _, known := systems[t.System]; !known {
				systems[t.System] = len(m.Systems)
				m.Systems = append(m.Systems, tracedat.System{Name: t.System})
			}
			s := &m.Systems[systems[t.System]]
			s.Formats = append(s.Formats, t.Format())
		}
	}
	for _, part := range []struct {
		to    *[]byte
		names []string
	}{
		{&m.HeaderEvent, []string{"header_event", "header_event.txt"}},
		{&m.Printk, []string{"printk_formats"}},
	} {
		text, _, err := kernel.read(part.names...)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		*part.to = text
	}
	var err error
	if f.kallsyms != nil { // with KeepGoing, a kallsyms that cannot be used is left out
		text, _, cerr := f.kallsyms.files.cache.kallsyms(kernel)
		m.Kallsyms, err = slices.Concat(text, f.kallsyms.modules), cerr
	}
	if err != nil {
		return err
	}
	m.Cmdlines, err = optional(l, "saved_cmdlines")
	return err
}

// optional reads a file of the capture, if there is one.
func optional(l location, name string) ([]byte, error) {
	text, err := readAll(l.fsys, path.Join(l.name, name), path.Join(l.shown, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
