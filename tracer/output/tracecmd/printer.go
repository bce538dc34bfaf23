package tracecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ftracelab/tracer/event"
)

// Entry is a record of a CPU, or a gap.
type Entry struct {
	CPU  int
	Time uint64 // ns, or what the clock counts
	Type *event.Type
	Data []byte // valid until the next entry is asked for
	Gap  bool   // no record: events of this CPU are missing here
	Lost int64  // of a gap: how many, -1: not known
}

// Source gives the entries of a buffer in the order of their times, then io.EOF.
type Source interface {
	Next(*Entry) error
}

// Buffer is what is printed: that of the top, or of an instance.
type Buffer struct {
	Name   string // of the instance
	CPUs   int
	Source Source
}

// Config is what else makes text of records.
type Config struct {
	Kallsyms, Printk, Cmdlines []byte // /proc/kallsyms, printk_formats, saved_cmdlines
	Counter                    bool   // the clock counts something else than time
	Offset                     int64  // ns to be added to the times
	LongSize                   int    // of the kernel: 4 or 8
}

// Printer prints one file. It may be used once.
type Printer struct {
	cfg    Config
	syms   *symbols
	comms  comms
	env    event.Env
	types  map[*event.Type]*event.Type // see printed
	stacks map[int][]string            // by CPU: of the function plugin
	name   int                         // width of the names of buffers; 0: they are not printed
}

// New prepares to print.
func New(cfg Config) *Printer {
	p := &Printer{
		cfg: cfg, syms: parseSymbols(cfg.Kallsyms), stacks: map[int][]string{},
		types: map[*event.Type]*event.Type{},
	}
	p.comms.parse(cfg.Cmdlines)
	texts := parsePrintk(cfg.Printk)
	p.env = event.Env{
		Symbols: p.syms, Library: true,
		Strings: func(addr uint64) (string, bool) { s, ok := texts[addr]; return s, ok },
	}
	return p
}

// reader is a buffer with its next entry.
type reader struct {
	Buffer
	next   Entry
	full   bool // next holds one
	ended  bool
	missed map[int]int64 // by CPU: lost before its next entry
	lost   int64         // before next
}

// peek loads the next entry. Gaps are kept for the entry of their CPU that follows.
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

// Print prints the buffers merged by time, the first being the top.
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

// earliest is the buffer with the earliest entry, of several the first; nil at the end.
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

// nameWidth is the room of a name of an event.
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

// appendTime writes a time in microseconds, rounded, or what a clock counted.
func (p *Printer) appendTime(dst []byte, t uint64) []byte {
	t += uint64(p.cfg.Offset)
	if p.cfg.Counter {
		return fmt.Appendf(dst, "%12d:", t)
	}
	t = (t + 500) / 1000
	return fmt.Appendf(dst, " %5d.%06d:", t/1_000_000, t%1_000_000)
}

// appendText writes what the print fmt makes of a record.
func (p *Printer) appendText(dst []byte, e *Entry) []byte {
	return p.printed(e.Type).AppendText(dst, e.Data, &p.env)
}

// appendEvent writes what is behind the name of the event.
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
