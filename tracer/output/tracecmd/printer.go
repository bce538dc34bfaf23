package tracecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ftracelab/tracer/event"
)

// Entry is a record of a CPU, or a gap in its records.
type Entry struct {
	CPU  int
	Time uint64 // in ns, or in the unit of the clock
	Type *event.Type
	Data []byte // valid until the next entry is asked for
	Gap  bool   // this is no record: events of this CPU are missing here
	Lost int64  // how many events a gap lacks; -1: not known
}

// Source gives the entries of a buffer in the order of their times, then io.EOF.
type Source interface {
	Next(*Entry) error
}

// Buffer is a buffer to print: the top one, or that of an instance.
type Buffer struct {
	Name   string // the name of the instance
	CPUs   int
	Source Source
}

// Config is what the text depends on besides the records.
type Config struct {
	Kallsyms, Printk, Cmdlines []byte // /proc/kallsyms, printk_formats, saved_cmdlines
	Counter                    bool   // the clock counts something other than time
	Offset                     int64  // ns that are added to all times
	LongSize                   int    // the size of a long in the kernel: 4 or 8
}

// Printer prints one file. It may be used once.
type Printer struct {
	cfg    Config
	syms   *symbols
	comms  comms
	env    event.Env
	types  map[*event.Type]*event.Type // see printed
	stacks map[int][]string            // the function plugin's list of callers for each CPU
	name   int                         // the width of the names of buffers; 0: they are not printed
}

// New makes a Printer.
func New(cfg Config) *Printer {
	p := &Printer{
		cfg: cfg, syms: parseSymbols(cfg.Kallsyms), stacks: map[int][]string{},
		types: map[*event.Type]*event.Type{},
	}
	p.comms.parse(cfg.Cmdlines)
	texts := parsePrintk(cfg.Printk)
	p.env = event.Env{
		HZ:      1000, // a jiffy is printed as one, see process_jiffies_to_msecs in plugin_jbd2.c
		Symbols: p.syms, Library: true,
		Strings: func(addr uint64) (string, bool) { s, ok := texts[addr]; return s, ok },
	}
	return p
}

// reader is a buffer together with its next entry.
type reader struct {
	Buffer
	next   Entry
	full   bool // next holds an entry
	ended  bool
	missed map[int]int64 // for each CPU, how many events were lost before its next entry
	lost   int64         // how many events were lost before next
}

// peek loads the next entry. Gaps are remembered for the next entry of their CPU.
func (r *reader) peek() (bool, error) {
	for !r.full && !r.ended {
		err := r.Source.Next(&r.next)
		switch {
		case errors.Is(err, io.EOF):
			r.ended = true
		case err != nil:
			return false, err
		case r.next.Gap:
			r.missed[r.next.CPU] = r.next.Lost
		default:
			r.full = true
			r.lost = r.missed[r.next.CPU]
			delete(r.missed, r.next.CPU)
		}
	}
	return r.full, nil
}

// Print prints the buffers, merged by time. The first of them is the top buffer.
func (p *Printer) Print(ctx context.Context, w io.Writer, buffers []Buffer) error {
	readers := make([]*reader, len(buffers))
	for i, b := range buffers {
		readers[i] = &reader{Buffer: b, missed: map[int]int64{}}
		p.name = max(p.name, len(b.Name))
	}
	var text []byte
	if len(buffers) > 0 {
		text = fmt.Appendf(text, "cpus=%d\n", buffers[0].CPUs)
	}
	for {
		r, err := earliest(readers)
		if err == nil && r != nil {
			text, err = p.appendEntry(text, r)
		}
		if err == nil {
			err = ctx.Err()
		}
		if len(text) > 64<<10 || r == nil || err != nil {
			if _, werr := w.Write(text); werr != nil {
				return werr
			}
			text = text[:0]
		}
		if r == nil || err != nil {
			return err
		}
	}
}

// earliest gives the buffer with the earliest entry, the first one if there are
// several; nil at the end.
func earliest(readers []*reader) (*reader, error) {
	var first *reader
	for _, r := range readers {
		ok, err := r.peek()
		if err != nil {
			return nil, err
		}
		if ok && (first == nil || r.next.Time < first.next.Time) {
			first = r
		}
	}
	return first, nil
}

// nameWidth is the width of the column for the names of events.
const nameWidth = 20

// appendEntry prints the next entry of r and takes it.
func (p *Printer) appendEntry(dst []byte, r *reader) ([]byte, error) {
	e := &r.next
	r.full = false
	if p.name > 0 {
		if r.Name != "" {
			dst = fmt.Appendf(dst, "%*s: ", p.name, r.Name)
		} else {
			dst = fmt.Appendf(dst, "%*s  ", p.name, "")
		}
	}
	switch {
	case r.lost > 0:
		dst = fmt.Appendf(dst, "CPU:%d [%d EVENTS DROPPED]\n", e.CPU, r.lost)
	case r.lost < 0:
		dst = fmt.Appendf(dst, "CPU:%d [EVENTS DROPPED]\n", e.CPU)
	}
	pid := event.ParseCommon(e.Data).PID
	dst = fmt.Appendf(dst, "%16s-%-5d [%03d]", p.comms.name(pid), pid, e.CPU)
	dst = p.appendTime(dst, e.Time)
	dst = fmt.Appendf(dst, " %s: ", e.Type.Name)
	for range nameWidth - len(e.Type.Name) {
		dst = append(dst, ' ')
	}
	start := len(dst)
	dst, err := p.appendEvent(dst, r)
	if n := len(dst); n > start && dst[n-1] == '\n' {
		dst = dst[:n-1]
	}
	return append(dst, '\n'), err
}

// appendTime prints a time, rounded to microseconds, or the number of a clock that
// counts something else.
func (p *Printer) appendTime(dst []byte, t uint64) []byte {
	t += uint64(p.cfg.Offset)
	if p.cfg.Counter {
		return fmt.Appendf(dst, "%12d:", t)
	}
	t = (t + 500) / 1000
	return fmt.Appendf(dst, " %5d.%06d:", t/1_000_000, t%1_000_000)
}

// appendText prints the text that the print fmt makes of a record.
func (p *Printer) appendText(dst []byte, e *Entry) []byte {
	return p.printed(e.Type).AppendText(dst, e.Data, &p.env)
}

// appendEvent prints what stands behind the name of the event.
func (p *Printer) appendEvent(dst []byte, r *reader) ([]byte, error) {
	e := &r.next
	for i := range handlers {
		h := &handlers[i]
		if h.name == e.Type.Name && h.system == e.Type.System {
			return h.print(p, dst, r)
		}
	}
	return p.appendText(dst, e), nil
}

// Info is what stands behind the name of the first entry of a source. The source should go
// on with the entries that follow on that CPU, since the text of a function that has called
// no other tells how long it took. Unlike Print it may be used many times; the callers that
// the text of the function tracer is indented by are those of the entries before.
func (p *Printer) Info(s Source) (string, error) {
	r := &reader{Buffer: Buffer{Source: s}, missed: map[int]int64{}}
	if ok, err := r.peek(); !ok || err != nil {
		return "", err
	}
	r.full = false
	text, err := p.appendEvent(nil, r)
	return string(text), err
}

// Comm is the name of a task, as saved_cmdlines tells it.
func (p *Printer) Comm(pid int32) string { return p.comms.name(pid) }
