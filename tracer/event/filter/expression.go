package filter

import (
	"syscall"

	"ftracelab/tracer/event"
)

// expression is a predicate or a list of expressions joined by && or, with or,
// by ||.
type expression struct {
	not       bool
	or        bool
	list      []*expression
	predicate *predicate
}

// group is the expression inside a pair of parentheses as far as it is read:
// what && joined so far, and what || joined before.
type group struct {
	not      bool // a ! stands before the parenthesis
	all, any []*expression
}

// alternative ends the operands of &&.
func (g *group) alternative() {
	if len(g.all) == 1 {
		g.any = append(g.any, g.all[0])
	} else {
		g.any = append(g.any, &expression{list: g.all})
	}
	g.all = nil
}

func (g *group) end() *expression {
	g.alternative()
	return &expression{not: g.not, or: true, list: g.any}
}

// parser reads one filter.
type parser struct {
	typ  *event.Type
	env  Env
	text string

	outline
	open   []group // the innermost last; the first is the whole
	parsed int     // predicates so far
	at     int     // in text
}

// byte is text[i], NUL at its end.
func (p *parser) byte(i int) byte {
	if i < len(p.text) {
		return p.text[i]
	}
	return 0
}

func (p *parser) skipSpace(i int) int {
	for isSpace(p.byte(i)) {
		i++
	}
	return i
}

func (p *parser) fault(errno syscall.Errno, msg string, pos int) *Error {
	return &Error{Msg: msg, Pos: pos, Command: p.text, Errno: errno}
}

// silent is a fault that has an errno but neither text nor place.
func (p *parser) silent(errno syscall.Errno) *Error { return p.fault(errno, msgErrno, 0) }

// parse reads the expression.
//
// Kernel: predicate_parse, kernel/trace/trace_events_filter.c.
func (p *parser) parse() (*expression, error) {
	if err := p.count(); err != nil {
		return nil, err
	}
	if p.predicates == 0 {
		return nil, p.silent(syscall.EINVAL)
	}
	p.open = make([]group, 1, p.depth)
	for more := true; more; {
		end, err := p.operand()
		if err == nil && !end {
			more, err = p.operators()
		}
		switch {
		case err != nil:
			return nil, err
		case end && p.parsed > 0: // the text ends behind && or ||
			return nil, p.fault(syscall.EINVAL, msgInvalidFilter, len(p.text))
		case end:
			return nil, p.fault(syscall.EINVAL, msgNoFilter, len(p.text))
		}
	}
	if len(p.open) > 1 {
		return nil, p.fault(syscall.EPERM, msgTooManyOpen, len(p.text)+1)
	}
	return p.open[0].end(), nil
}

// operand reads up to the end of a predicate, with what stands before it: any
// number of ! and opening parentheses. end is true if the text ends before.
func (p *parser) operand() (end bool, err error) {
	for not := false; ; p.at++ {
		p.at = p.skipSpace(p.at)
		switch c := p.byte(p.at); {
		case c == 0:
			return true, nil
		case c == '(':
			if len(p.open) >= p.depth {
				return false, p.silent(syscall.EINVAL)
			}
			p.open = append(p.open, group{not: not})
			not = false
		case c == '!' && !isComparison(p.byte(p.at+1)):
			not = !not
		default:
			return false, p.leaf(not)
		}
	}
}

// isComparison reports whether a ! followed by c is an operator.
func isComparison(c byte) bool { return c == '=' || c == '~' }

// leaf reads a predicate.
func (p *parser) leaf(not bool) error {
	if p.parsed >= p.predicates {
		return p.fault(syscall.EPERM, msgTooManyPreds, p.at)
	}
	pred, err := p.predicate()
	if err != nil {
		return err
	}
	p.parsed++
	g := &p.open[len(p.open)-1]
	g.all = append(g.all, &expression{not: not, predicate: pred})
	return nil
}

// operators reads closing parentheses up to the next && or ||; more is false if
// the text ends instead.
func (p *parser) operators() (more bool, err error) {
	for ; ; p.at++ {
		p.at = p.skipSpace(p.at)
		g := &p.open[len(p.open)-1]
		switch c := p.byte(p.at); {
		case c == 0:
			return false, nil
		case (c == '&' || c == '|') && p.byte(p.at+1) == c:
			if c == '|' {
				g.alternative()
			}
			p.at += 2
			return true, nil
		case c != ')':
			return false, p.fault(syscall.EPERM, msgTooManyPreds, p.at)
		case len(p.open) == 1:
			return false, p.fault(syscall.EPERM, msgTooManyClose, p.at+1)
		}
		inner := g.end()
		p.open = p.open[:len(p.open)-1]
		g = &p.open[len(p.open)-1]
		g.all = append(g.all, inner)
	}
}
