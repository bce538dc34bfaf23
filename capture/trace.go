package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"ftracelab/budget"
	"ftracelab/fgraph"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// Trace turns a capture folder into the text that its kernel would show in the file
// trace. It has the pages and whatever else the text depends on. A Trace can be read
// once.
//
// Departure: %p prints the pointer itself, as with nohash-ptr: the key of the kernel's
// hash is secret, so no capture can have it. [Trace.Hashed] reports whether any was
// printed.
//
// Departure: the times of latency-format count from the first entry, unless state.txt
// has a line time_start, because no file of a kernel tells when its buffer was reset.
type Trace struct {
	base
	folder *folder
	dat    *traceDat // nil: the capture is a folder
	shown  string
	cpus   int
	online int // how many of them were online: the header's #P

	state   map[string]string // state.txt
	options map[string]bool   // trace_options
	tgids   map[int32]int32   // saved_tgids
	strings map[uint64]string // printk_formats
	eprobes map[string]string // SYSTEM/NAME of an eprobe → SYSTEM.EVENT to which it is attached
	latency output.Latency
	// began is when the buffer was reset, if beganKnown.
	began      uint64
	beganKnown bool
	maps       fileMaps
	readers    []*entries
	hashed     bool
	incomplete []error // see Incomplete
}

// OpenTrace opens a capture folder or a trace.dat.
func OpenTrace(name string, opt Options) (*Trace, error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	l, err := locate(name, opt)
	if err != nil {
		return nil, err
	}
	return openTrace(l, opt)
}

func openTrace(l location, opt Options) (_ *Trace, err error) {
	info, err := fs.Stat(l.fsys, l.name)
	if err != nil {
		return nil, fileError(l.shown, "cannot open", cause(err))
	}
	t := &Trace{base: newBase(l, opt, FormatFolder), shown: l.shown}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, fileError(l.shown, notRegular(info.Mode()).Error(), nil)
		}
		if t.dat, err = openTraceDat(l); err != nil {
			return nil, err
		}
		if t.dat == nil {
			return nil, fileError(l.shown, "is a file, but neither a trace.dat nor a folder with cpuN.raw pages", nil)
		}
		b, err := t.dat.buffer(opt.Instance, l.shown)
		if err != nil {
			return nil, err
		}
		l = t.dat.location(b, l)
	}
	if t.folder, err = newFolder(&t.base, l, false); err != nil {
		return nil, err
	}
	if t.ids, err = newStackIDs(&t.base, l, l.name); err != nil {
		return nil, err
	}
	if err := t.loadState(l); err != nil {
		return nil, err
	}
	for _, c := range t.folder.cpus {
		t.readers = append(t.readers, &entries{c: c, ids: newExpander(t.ids, t.folder.formats)})
		t.cpus = max(t.cpus, c.cpu+1)
	}
	for _, s := range t.info.Stats {
		t.cpus = max(t.cpus, s.CPU+1)
	}
	t.online = t.cpus
	if text, ok := t.state["online_cpus"]; ok {
		if t.online, err = strconv.Atoi(text); err != nil || t.online < 1 || t.online > maxCPUs {
			return nil, fileError(path.Join(l.shown, "state.txt"), "impossible online_cpus "+excerpt([]byte(text)), nil)
		}
	}
	return t, nil
}

// Close closes the files.
func (t *Trace) Close() error {
	var err error
	if t.folder != nil {
		err = t.folder.close()
	}
	if t.dat != nil {
		err = errors.Join(err, t.dat.Close())
		t.dat = nil
	}
	return err
}

// SetOption does what a write of word to trace_options would do: NAME sets an option,
// noNAME clears it. An option that has no effect on text is accepted if the capture's
// own trace_options lists it.
//
// Kernel: trace_set_options, kernel/trace/trace.c.
func (t *Trace) SetOption(word string) error {
	name, clear := strings.CutPrefix(word, "no")
	if _, listed := t.options[name]; !listed && output.OptionByName(name) == 0 && output.GraphOptionByName(name) == 0 {
		return fmt.Errorf("trace_options: no option %q", word)
	}
	t.options[name] = !clear
	if name == "blk_classic" { // blk_tracer_set_flag, kernel/trace/blktrace.c
		t.options["context-info"] = clear
	}
	return nil
}

// Config gives what a printer needs to know about the capture.
func (t *Trace) Config() output.Config {
	cfg := output.Config{
		Tracer:       t.state["current_tracer"],
		Types:        t.folder.formats,
		HashPtr:      func(ptr uint64) uint64 { t.hashed = true; return ptr },
		NoPtrKey:     t.state["ptr_key"] == "none",
		UserFile:     t.maps.file,
		Comm:         t.comms.shown,
		NamesStay:    true,
		TGID:         func(pid int32) int32 { return t.tgids[pid] },
		String:       func(addr uint64) (string, bool) { s, ok := t.strings[addr]; return s, ok },
		ProbedEvent:  func(typ *event.Type) string { return t.eprobes[typ.String()] },
		CPUs:         t.online,
		PossibleCPUs: t.cpus,
		CounterClock: countsOther(t.state["trace_clock"]),
		Latency:      t.latency,
		HZ:           t.folder.formats.hz(),
	}
	if t.kallsyms != nil {
		cfg.Symbols = frameSymbols{t.frames, t.kallsyms}
		cfg.IRQStart, _ = t.kallsyms.Address("__irqentry_text_start")
		cfg.IRQEnd, _ = t.kallsyms.Address("__irqentry_text_end")
	}
	for _, s := range t.info.Stats {
		cfg.Overrun = cfg.Overrun || s.Overrun > 0
	}
	cfg.Options, cfg.Graph = output.DefaultOptions, fgraph.DefaultOptions
	for name, on := range t.options {
		bit, graph := output.OptionByName(name), output.GraphOptionByName(name)
		cfg.Options &^= bit
		cfg.Graph &^= graph
		if on {
			cfg.Options |= bit
			cfg.Graph |= graph
		}
	}
	cfg.TimeStart = t.timeStart(cfg.Options)
	return cfg
}

// Hashed reports whether a pointer was printed that the kernel would have hashed.
func (t *Trace) Hashed() bool { return t.hashed }

// Incomplete tells which events lack something in the last text, and what.
func (t *Trace) Incomplete() []error { return t.incomplete }

// Info tells what was read and, with Options.KeepGoing, what was skipped.
func (t *Trace) Info() Info { return t.info }

// textChunk is about how many bytes of text are written at a time.
const textChunk = 64 << 10

// WriteText writes the text of trace or, with cpu ≥ 0, of per_cpu/cpuN/trace. If ctx
// ends, WriteText stops and returns its error. If a page is damaged, everything that
// could be read before it is written first.
//
// Kernel: tracing_open and s_show, kernel/trace/trace.c.
func (t *Trace) WriteText(ctx context.Context, w io.Writer, cpu int) error {
	m, err := t.Merge(cpu)
	if err != nil {
		return err
	}
	n, err := t.counts(ctx)
	if err != nil {
		return err
	}
	p, err := output.New(t.Config())
	if err != nil {
		return err
	}
	defer func() { t.incomplete = p.Incomplete() }()
	text := p.AppendHeader(make([]byte, 0, 2*textChunk), m, n)
	for more := true; more; {
		start := len(text)
		text, more = p.AppendNext(text, m)
		if t.folder.formats.err != nil { // the format of this record cannot be read
			text, more = text[:start], false
		}
		if len(text) < textChunk && more {
			continue
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		text = text[:0]
		if err := errors.Join(t.folder.formats.err, t.failure(), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}
