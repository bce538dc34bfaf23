package sed

import (
	"errors"
	"fmt"
	"strings"
)

// substitution parses s/regexp/replacement/flags.
func (p *parser) substitution(c *command) error {
	delim := p.peek()
	if delim == 0 || delim == '\n' || delim == '\\' {
		return errors.New("unterminated `s' command")
	}
	p.pos++
	pattern, ok := p.delimited(delim, true)
	if !ok {
		return errors.New("unterminated `s' command")
	}
	with, ok := p.delimited(delim, false)
	if !ok {
		return errors.New("unterminated `s' command")
	}
	s := &substitution{number: 1}
	fold := false
	for {
		switch f := p.peek(); {
		case f == 'g':
			s.global = true
		case f == 'p':
			s.print = true
		case f == 'i' || f == 'I':
			fold = true
		case f >= '1' && f <= '9':
			s.number = p.number()
			continue
		case f == 'w' || f == 'e' || f == 'm' || f == 'M':
			return fmt.Errorf("flag `%c' of s is not supported in the lab's sed", f)
		default:
			var err error
			if s.re, err = p.regexp(pattern, fold); err != nil {
				return err
			}
			s.with, err = pieces(with, s.re.NumSubexp())
			c.sub = s
			return err
		}
		p.pos++
	}
}

// pieces splits a replacement at & and \1 … \9.
func pieces(with string, groups int) ([]piece, error) {
	var list []piece
	var text strings.Builder
	add := func(group int) {
		if text.Len() > 0 {
			list = append(list, piece{text.String(), -1})
			text.Reset()
		}
		if group >= 0 {
			list = append(list, piece{"", group})
		}
	}
	for i := 0; i < len(with); i++ {
		switch c := with[i]; {
		case c == '&':
			add(0)
		case c == '\\' && i+1 < len(with):
			i++
			switch e := with[i]; {
			case e >= '0' && e <= '9':
				if int(e-'0') > groups {
					return nil, fmt.Errorf("invalid reference \\%c on `s' command's RHS", e)
				}
				add(int(e - '0'))
			case e == 'n':
				text.WriteByte('\n')
			case e == 't':
				text.WriteByte('\t')
			case strings.IndexByte("ULEul", e) >= 0:
				return nil, fmt.Errorf("case conversion \\%c is not supported in the lab's sed", e)
			default:
				text.WriteByte(e)
			}
		default:
			text.WriteByte(c)
		}
	}
	add(-1)
	return list, nil
}

// transliteration parses y/from/to/.
func (p *parser) transliteration(c *command) error {
	delim := p.peek()
	if delim == 0 {
		return errors.New("unterminated `y' command")
	}
	p.pos++
	from, ok := p.delimited(delim, false)
	to, ok2 := p.delimited(delim, false)
	if !ok || !ok2 {
		return errors.New("unterminated `y' command")
	}
	from, to = unescape(from), unescape(to)
	if len(from) != len(to) {
		return errors.New("strings for `y' command are different lengths")
	}
	c.table = new([256]byte)
	for i := range c.table {
		c.table[i] = byte(i)
	}
	for i := range len(from) {
		c.table[from[i]] = to[i]
	}
	return nil
}

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
}

// text parses the text of a, i and c: behind a\ and a newline, or, as GNU has
// it, on the same line.
func (p *parser) text(c *command) error {
	p.skip(" \t")
	if p.peek() == '\\' {
		p.pos++
		p.skip(" \t")
		if p.peek() == '\n' {
			p.pos++
		}
	}
	if p.pos >= len(p.src) {
		return fmt.Errorf("expected \\ after `a', `c' or `i'")
	}
	var b strings.Builder
	for ; p.pos < len(p.src) && p.src[p.pos] != '\n'; p.pos++ {
		if p.src[p.pos] == '\\' && p.pos+1 < len(p.src) {
			p.pos++
		}
		b.WriteByte(p.src[p.pos])
	}
	c.text = b.String() + "\n"
	return nil
}
