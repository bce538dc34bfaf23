//go:build !js

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/tracer"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output/tracecmd"
	"ftracelab/tracer/record"
	"ftracelab/tracer/tracedat"
)

// isTraceDat reports whether path is a file that begins like a trace.dat.
func isTraceDat(path string) (bool, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return false, nil // this is a folder, or a stream, which cannot be read twice
	}
	in, err := os.Open(path)
	if err != nil {
		return false, err
	}
	head := make([]byte, 16)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		n = 0
	}
	return tracedat.Is(head[:n]), in.Close()
}

// reportTraceDat prints a trace.dat in the form of trace-cmd report.
func reportTraceDat(ctx context.Context, w io.Writer, path string, opt capture.Options) (err error) {
	f, err := tracedat.Open(path, opt.Memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if len(f.Buffers) == 0 {
		return fmt.Errorf("%s: a trace.dat without a buffer", path)
	}
	if text := f.Text(&f.Buffers[0]); text != nil {
		if _, err := fmt.Fprintf(w, "cpus=%d\n", f.CPUs); err != nil {
			return err
		}
		_, err := io.Copy(w, text)
		return err
	}
	opt.Cache = new(capture.Cache)
	var buffers []tracecmd.Buffer
	var captures []*capture.Capture
	for i := range f.Buffers {
		b := &f.Buffers[i]
		buffer := tracecmd.Buffer{Name: b.Name, CPUs: max(f.CPUs, len(b.CPUs))}
		if len(b.CPUs) > 0 {
			opt.Shown = filepath.Join(path, b.Name)
			c, err := capture.OpenFS(f.Folder(b), ".", opt)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			captures = append(captures, c)
			buffer.Source = &entries{c: c, memory: opt.Memory}
		} else {
			buffer.Source = &entries{}
		}
		buffers = append(buffers, buffer)
	}
	defer func() {
		var errs []error
		entries := uint64(0)
		for _, c := range captures {
			errs, entries = append(errs, c.Info().Skipped()), entries+c.Info().Entries()
		}
		switch left := errors.Join(errs...); {
		case err != nil || left == nil:
		case entries == 0:
			err = fmt.Errorf("nothing could be read: %w", left)
		default:
			err = skippedError{left}
		}
	}()
	if err := holdTables(f, opt.Memory); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p := tracecmd.New(tracecmd.Config{
		Kallsyms: f.Kallsyms, Printk: f.Printk, Cmdlines: f.Cmdlines,
		Counter: f.CounterClock(), Offset: f.TimeOffset(), LongSize: f.LongSize,
	})
	return p.Print(ctx, w, buffers)
}

// entries gives the records of a capture in the form that package tracecmd takes.
type entries struct {
	c   *capture.Capture // nil: there are no records
	rec record.Record

	// The budget for the print fmt of each type that occurs.
	memory *budget.Budget
	last   *event.Type
	seen   map[*event.Type]bool
}

// The memory that the printer takes for each byte and each line of a text, and for each
// byte of a print fmt, which is compiled.
const (
	symbolLineCost = 64
	printkCost     = 16
	cmdlineCost    = 24
	printFmtCost   = 8
)

// holdTables asks for the memory of the tables that the printer makes from the parts of
// f.
func holdTables(f *tracedat.File, memory *budget.Budget) error {
	lines := int64(bytes.Count(f.Kallsyms, []byte("\n")) + 1)
	return errors.Join(
		memory.Take(int64(len(f.Kallsyms))+lines*symbolLineCost, "the table of kallsyms"),
		memory.Take(printkCost*int64(len(f.Printk)), "the table of printk_formats"),
		memory.Take(cmdlineCost*int64(len(f.Cmdlines)), "the table of saved_cmdlines"),
	)
}

// hold asks for the memory that the first record of a type needs to be printed.
func (e *entries) hold(t *event.Type) error {
	if t == e.last || t == nil {
		return nil
	}
	e.last = t
	if e.seen[t] {
		return nil
	}
	if e.seen == nil {
		e.seen = map[*event.Type]bool{}
	}
	e.seen[t] = true
	return e.memory.Take(printFmtCost*int64(len(t.PrintFmt)), "the print fmt of "+t.String())
}

func (e *entries) Next(to *tracecmd.Entry) error {
	if e.c == nil {
		return io.EOF
	}
	if err := e.c.Next(&e.rec); err != nil {
		return err
	}
	r := &e.rec
	if err := e.hold(r.Type); err != nil {
		return err
	}
	*to = tracecmd.Entry{CPU: r.CPU, Time: r.Time, Type: r.Type, Data: r.Data}
	if r.Kind == record.Lost {
		to.Gap, to.Lost = true, -1
		if r.Count != record.LostUnknown {
			to.Lost = int64(r.Count)
		}
	}
	return nil
}

// fileFlags say how a trace.dat is written.
type fileFlags struct {
	version     int
	compression string
}

func (f *fileFlags) register(fl *pflag.FlagSet) {
	fl.IntVar(&f.version, "file-version", tracedat.Version7, "version of a trace.dat: 6 or 7")
	fl.StringVar(&f.compression, "compression", "", "of a trace.dat of version 7: "+strings.Join(tracedat.Compressions(), ", ")+" (default zstd)")
}

func (f *fileFlags) target() (tracedat.Target, error) {
	t := tracedat.Target{Version: f.version, Compression: f.compression}
	if t.Compression == "" && t.Version == tracedat.Version7 {
		t.Compression = "zstd"
	}
	if err := t.Check(); err != nil {
		return t, usageError{err}
	}
	return t, nil
}

// writeTraceDat writes what the machine has traced as a trace.dat. It takes the pages
// out of the buffers.
func (l *lab) writeTraceDat(ctx context.Context, o *outputFile, target tracedat.Target) error {
	m, err := l.traceDatMeta()
	if err != nil {
		return err
	}
	var sources []tracedat.Source
	for _, i := range l.ft.Instances() {
		i.Stop()
		s, err := l.source(ctx, i, m)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	return writeOutput(o, func(w *os.File) error { return tracedat.Write(w, target, m, sources) })
}

// source takes the pages of an instance and notes its statistics in m.
func (l *lab) source(ctx context.Context, i *tracer.Instance, m *tracedat.Meta) (tracedat.Source, error) {
	dir := ""
	if i.Name() != "" {
		dir = "instances/" + i.Name() + "/"
	}
	clock, err := l.fs.ReadFile(dir + "trace_clock")
	if err != nil {
		return tracedat.Source{}, err
	}
	s := tracedat.Source{Name: i.Name(), Clock: tracedat.ChosenClock(string(clock))}
	if i.Name() != "" {
		m.Options = append(m.Options, tracedat.Option{
			ID: tracedat.OptionCPUStat, Data: fmt.Appendf(nil, "\nBuffer: %s\n\n\x00", i.Name()),
		})
	}
	for cpu := range i.Buffer().CPUs() {
		// In the order of trace-cmd: the statistics are read after all pages.
		pages := i.TakePages(cpu)
		stats, err := l.fs.ReadFile(fmt.Sprintf("%sper_cpu/cpu%d/stats", dir, cpu))
		if err != nil {
			return s, err
		}
		s.CPUs = append(s.CPUs, tracedat.CPUPages{CPU: cpu, Pages: underContext(ctx, bytes.NewReader(pages))})
		m.Options = append(m.Options, tracedat.Option{
			ID: tracedat.OptionCPUStat, Data: fmt.Appendf(nil, "CPU: %d\n%s\x00", cpu, stats),
		})
	}
	return s, nil
}

// traceDatMeta reads from the tracefs what trace-cmd record would read.
func (l *lab) traceDatMeta() (*tracedat.Meta, error) {
	m := &tracedat.Meta{CPUs: len(l.machine.CPUs())}
	for _, f := range []struct {
		to   *[]byte
		name string
	}{
		{&m.HeaderPage, "events/header_page"},
		{&m.HeaderEvent, "events/header_event"},
		{&m.Cmdlines, "saved_cmdlines"},
	} {
		var err error
		if *f.to, err = l.fs.ReadFile(f.name); err != nil {
			return nil, err
		}
	}
	systems := map[string]int{}
	for _, t := range l.ft.Types().All() {
		format := t.Format()
		if t.System == "ftrace" {
			m.Ftrace = append(m.Ftrace, format)
			continue
		}
		if _, known := systems[t.System]; !known {
			systems[t.System] = len(m.Systems)
			m.Systems = append(m.Systems, tracedat.System{Name: t.System})
		}
		s := &m.Systems[systems[t.System]]
		s.Formats = append(s.Formats, format)
	}
	var symbols bytes.Buffer
	if _, err := l.machine.Kallsyms().WriteTo(&symbols); err != nil {
		return nil, err
	}
	m.Kallsyms = symbols.Bytes()
	clock, err := l.fs.ReadFile("trace_clock")
	if err != nil {
		return nil, err
	}
	m.Options = []tracedat.Option{
		{ID: tracedat.OptionVersion, Data: []byte("ftracelab\x00")},
		{ID: tracedat.OptionUname, Data: []byte("Linux ftracelab 6.12.117 x86_64\x00")},
		{ID: tracedat.OptionTraceClock, Data: append(clock, 0)},
	}
	return m, nil
}
