package filter

import "syscall"

// outline is the result of a first pass over a filter: how many groups are open
// at most, with the whole counted as one, and a bound on the number of
// predicates.
type outline struct {
	depth, predicates int
}

// count looks at the text's quotes and parentheses. Text between quotes does
// not count.
//
// Kernel: calc_stack, kernel/trace/trace_events_filter.c.
func (p *parser) count() error {
	open, deepest, inPredicate := 1, 1, false
	quote, quoteAt := byte(0), 0
	for i := range len(p.text) {
		c := p.text[i]
		switch {
		case isSpace(c):
			continue
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '\'' || c == '"':
			quote, quoteAt = c, i
		case (c == '&' || c == '|') && p.byte(i+1) == c:
			inPredicate = false
			continue
		case c == '(':
			inPredicate = false
			open++
			deepest = max(deepest, open)
			continue
		case c == ')':
			inPredicate = false
			if open == 1 {
				return p.fault(syscall.EPERM, msgTooManyClose, i)
			}
			open--
			continue
		}
		if !inPredicate {
			p.predicates++
			inPredicate = true
		}
	}
	p.depth = deepest
	switch {
	case quote != 0:
		return p.fault(syscall.ESRCH, msgMissingQuote, quoteAt)
	case open != 1:
		return p.fault(syscall.ENOENT, msgTooManyOpen, p.unclosed())
	}
	return nil
}

// unclosed finds the last parenthesis that is opened and never closed. It need
// not look at the first character: if no other parenthesis is unclosed, that
// one is.
func (p *parser) unclosed() int {
	closed, quote := 0, byte(0)
	for i := len(p.text) - 1; i > 0; i-- {
		c := p.text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '(' && closed == 0:
			return i
		case c == '(':
			closed--
		case c == ')':
			closed++
		case c == '\'' || c == '"':
			quote = c
		}
	}
	return 0
}
