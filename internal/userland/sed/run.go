package sed

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// maxSpace bounds the pattern and the hold space.
const maxSpace = 64 << 20

// maxMatches bounds the matches of one s, and the texts that a leaves for the end
// of a cycle.
const maxMatches = 1 << 20

// Config is what a run reads and writes.
type Config struct {
	Inputs []io.Reader
	Stdout io.Writer
	// Wait, if not nil, is called before input is read that may not be there
	// yet: the place to flush Stdout.
	Wait func()
}

// editor is one run of a program.
type editor struct {
	prog    *Program
	ctx     context.Context
	in      *lines
	out     io.Writer
	pattern string
	newline bool // the line read last ended with one
	hold    string
	number  int
	until   []int // per range: 0 inactive, -1 until its regexp, else its last line
	appends []string
	missing bool // the line written last wants a newline if more is written
	changed bool // since the last t
	err     error
}

// Run edits the inputs as one stream. status is that of q; err is a fault of an
// input or of Stdout, or ctx's.
func (p *Program) Run(ctx context.Context, cfg Config) (status int, err error) {
	e := &editor{prog: p, ctx: ctx, out: cfg.Stdout, in: newLines(cfg), until: make([]int, p.ranges)}
	for e.next() {
		again := true
		for again {
			again = false
			switch outcome, code := e.cycle(); outcome {
			case endQuit:
				e.finish()
				return code, e.fault()
			case endQuitSilent:
				return code, e.fault()
			case endDelete:
				e.flushAppends()
			case endRestart:
				e.flushAppends()
				again = true
			case endCycle:
				e.finish()
			}
			if e.fault() != nil {
				return 4, e.fault()
			}
		}
	}
	return 0, e.fault()
}

func (e *editor) fault() error {
	switch {
	case e.err != nil:
		return e.err
	case e.in.err != nil:
		return e.in.err
	}
	return e.ctx.Err()
}

// next reads the next line into the pattern space.
func (e *editor) next() bool {
	line, newline, ok := e.in.next()
	if !ok || e.fault() != nil {
		return false
	}
	e.pattern, e.newline = line, newline
	e.number++
	return true
}

func (e *editor) write(s string) {
	if e.missing {
		s, e.missing = "\n"+s, false
	}
	if e.err == nil {
		_, e.err = io.WriteString(e.out, s)
	}
}

// print writes the pattern space as a line; the last line of an input without a
// newline gets none.
func (e *editor) print(s string) {
	whole := e.newline || !e.in.atEnd()
	if whole {
		s += "\n"
	}
	e.write(s)
	e.missing = !whole
}

func (e *editor) finish() {
	if !e.prog.quiet {
		e.print(e.pattern)
	}
	e.flushAppends()
}

func (e *editor) flushAppends() {
	for _, text := range e.appends {
		e.write(text)
	}
	e.appends = e.appends[:0]
}

// ending is how a cycle ends.
type ending int

const (
	endCycle ending = iota
	endDelete
	endRestart // D with a newline: the script again without reading
	endQuit
	endQuitSilent
)

// cycle runs the script over the pattern space.
func (e *editor) cycle() (ending, int) {
	for i, steps := 0, 0; i < len(e.prog.commands); i, steps = i+1, steps+1 {
		c := &e.prog.commands[i]
		if e.err != nil || steps&0xfff == 0xfff && e.ctx.Err() != nil {
			return endDelete, 0
		}
		if e.selects(c) == c.negated {
			if c.verb == '{' {
				i = c.jump - 1
			}
			continue
		}
		switch c.verb {
		case 'b':
			i = c.jump - 1
		case 't', 'T':
			if e.changed == (c.verb == 't') {
				i = c.jump - 1
			}
			e.changed = false
		case 'd':
			return endDelete, 0
		case 'D':
			_, rest, found := strings.Cut(e.pattern, "\n")
			if !found {
				return endDelete, 0
			}
			e.pattern = rest
			return endRestart, 0
		case 'c':
			if c.to == nil || c.negated || e.until[c.rangeID] == 0 {
				e.write(c.text)
			}
			return endDelete, 0
		case 'q':
			return endQuit, c.status
		case 'Q':
			return endQuitSilent, c.status
		case 'n', 'N':
			if end, stop := e.readNext(c.verb); stop {
				return end, 0
			}
		default:
			e.simple(c)
		}
	}
	return endCycle, 0
}

// readNext is n and N.
func (e *editor) readNext(verb byte) (ending, bool) {
	if e.in.atEnd() {
		if verb == 'n' || !e.prog.quiet {
			return endQuit, true // GNU: N prints the pattern space at the end
		}
		return endQuitSilent, true
	}
	if verb == 'n' {
		if !e.prog.quiet {
			e.print(e.pattern)
		}
		e.flushAppends()
		return endCycle, !e.next()
	}
	before := e.pattern
	e.flushAppends()
	if !e.next() {
		return endDelete, true
	}
	e.pattern = e.joined(before, e.pattern)
	return endCycle, e.err != nil
}

// joined is two texts with a newline between them, which must not be too long.
func (e *editor) joined(a, b string) string {
	if e.tooLong(len(a) + 1 + len(b)) {
		return ""
	}
	return a + "\n" + b
}

// tooLong: is n too much for the pattern or the hold space? That ends the run.
func (e *editor) tooLong(n int) bool {
	if n <= maxSpace {
		return false
	}
	if e.err == nil {
		e.err = fmt.Errorf("the pattern space is too long: %w", syscall.ENOMEM)
	}
	return true
}

// simple is a command that only works on the two spaces.
func (e *editor) simple(c *command) {
	switch c.verb {
	case 's':
		e.substitute(c.sub)
	case 'p':
		e.print(e.pattern)
	case 'P':
		first, _, _ := strings.Cut(e.pattern, "\n")
		e.write(first + "\n")
	case 'a':
		if len(e.appends) == maxMatches {
			e.err = fmt.Errorf("too many appended texts: %w", syscall.ENOMEM)
			return
		}
		e.appends = append(e.appends, c.text)
	case 'i':
		e.write(c.text)
	case '=':
		e.write(fmt.Sprintln(e.number))
	case 'l':
		e.list()
	case 'g':
		e.pattern = e.hold
	case 'G':
		e.pattern = e.joined(e.pattern, e.hold)
	case 'h':
		e.hold = e.pattern
	case 'H':
		e.hold = e.joined(e.hold, e.pattern)
	case 'x':
		e.pattern, e.hold = e.hold, e.pattern
	case 'y':
		b := []byte(e.pattern)
		for i := range b {
			b[i] = c.table[b[i]]
		}
		e.pattern = string(b)
	}
}

// list prints the pattern space with what cannot be seen made visible, in lines
// of 70.
func (e *editor) list() {
	var b strings.Builder
	width := 0
	for i := range len(e.pattern) {
		c := e.pattern[i]
		s := fmt.Sprintf("\\%03o", c)
		if at := strings.IndexByte("\a\b\f\n\r\t\v\\", c); at >= 0 {
			s = `\` + `abfnrtv\`[at:at+1]
		} else if c >= ' ' && c < 0x7f {
			s = string(rune(c))
		}
		if width+len(s) > 69 {
			b.WriteString("\\\n")
			width = 0
		}
		b.WriteString(s)
		width += len(s)
	}
	e.write(b.String() + "$\n")
}

func (e *editor) substitute(s *substitution) {
	most := maxMatches + 1
	if !s.global {
		most = max(s.number, 1)
	}
	matches := s.re.FindAllStringSubmatchIndex(e.pattern, min(most, maxMatches+1))
	if len(matches) > maxMatches {
		e.err = fmt.Errorf("too many matches: %w", syscall.ENOMEM)
		return
	}
	var b strings.Builder
	last, n := 0, 0
	for _, at := range matches {
		n++
		if n < s.number {
			continue
		}
		b.WriteString(e.pattern[last:at[0]])
		for _, piece := range s.with {
			if piece.group < 0 {
				b.WriteString(piece.text)
			} else if from := at[2*piece.group]; from >= 0 {
				b.WriteString(e.pattern[from:at[2*piece.group+1]])
			}
			if e.tooLong(b.Len()) {
				return
			}
		}
		last = at[1]
		if !s.global {
			break
		}
	}
	if n < s.number {
		return
	}
	b.WriteString(e.pattern[last:])
	if e.tooLong(b.Len()) {
		return
	}
	e.pattern = b.String()
	e.changed = true
	if s.print {
		e.print(e.pattern)
	}
}
