package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"ftracelab/internal/budget"
	"ftracelab/tracer/tracedat"
)

// DatFolder is a capture folder with all that a trace.dat has of it.
type DatFolder struct {
	Meta    *tracedat.Meta
	Sources []tracedat.Source // one, of the top
	folder  *folder
}

// Close closes the pages.
func (d *DatFolder) Close() error { return d.folder.close() }

// OpenDatFolder opens the folder name to be written as a trace.dat. The pages are read
// from the Sources, once.
func OpenDatFolder(name string, opt Options) (_ *DatFolder, err error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	l, err := locate(name, opt)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(l.fsys, l.name)
	if err != nil {
		return nil, fileError(l.shown, "cannot open", cause(err))
	}
	if !info.IsDir() {
		return nil, fileError(l.shown, "neither a trace.dat nor a folder with cpuN.raw pages", nil)
	}
	b := newBase(l, opt, FormatFolder)
	d := &DatFolder{Meta: &tracedat.Meta{}}
	if d.folder, err = newFolder(&b, l, true); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.meta(l); err != nil {
		return nil, err
	}
	s := tracedat.Source{}
	clock, err := optional(l, "trace_clock")
	if err != nil {
		return nil, err
	}
	if s.Clock = tracedat.ChosenClock(string(clock)); len(clock) > 0 {
		d.note(tracedat.OptionTraceClock, clock)
	}
	for _, c := range d.folder.cpus {
		d.Meta.CPUs = max(d.Meta.CPUs, c.cpu+1)
		stats, err := optional(l, fmt.Sprintf("stats.cpu%d", c.cpu))
		if err != nil {
			return nil, err
		}
		if len(stats) > 0 {
			d.note(tracedat.OptionCPUStat, fmt.Appendf(nil, "CPU: %d\n%s", c.cpu, stats))
		}
		s.CPUs = append(s.CPUs, tracedat.CPUPages{CPU: c.cpu, Pages: d.folder.pages(c.cpu)})
	}
	d.Sources = []tracedat.Source{s}
	return d, nil
}

func (d *DatFolder) note(id uint16, text []byte) {
	d.Meta.Options = append(d.Meta.Options, tracedat.Option{ID: id, Data: append(bytes.Clone(text), 0)})
}

// meta collects what the kernel's files have. The formats are written anew, which
// gives what was read.
func (d *DatFolder) meta(l location) error {
	kernel := findKernel(l, l.name)
	m := d.Meta
	m.HeaderPage = tracedat.HeaderPage(d.folder.info.SubbufSize)
	systems := map[string]int{}
	for _, t := range d.folder.types.table.All() {
		switch {
		case t.System == "ftrace" && t.Name == "blk": // it has no format
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
	for _, f := range []struct {
		to    *[]byte
		names []string
	}{
		{&m.HeaderEvent, []string{"header_event", "header_event.txt"}},
		{&m.Kallsyms, []string{"kallsyms.txt", "kallsyms"}},
		{&m.Printk, []string{"printk_formats"}},
	} {
		text, _, err := kernel.read(f.names...)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		*f.to = text
	}
	modules, _, err := readFirst(kernel.near, "kallsyms.modules.txt")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.Kallsyms = slices.Concat(m.Kallsyms, modules)
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
