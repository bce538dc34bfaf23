package sed

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ftracelab/internal/userland/posixre"
)

// Options are sed's.
type Options struct {
	Quiet    bool // -n
	Extended bool // -E
}

// Program is a parsed script. It holds no state and may be run often.
type Program struct {
	commands []command
	quiet    bool
	ranges   int // how many commands have a range
}

// command is one command. A { has in jump where its } is.
type command struct {
	from, to *address
	rangeID  int
	negated  bool
	verb     byte
	text     string // of a, i, c
	status   int    // of q, Q
	jump     int    // of {, b, t, T
	sub      *substitution
	table    *[256]byte // of y
}

// address selects lines. Of a second address offset counts on from the first.
type address struct {
	line   int
	step   int // of first~step; -1: none
	last   bool
	offset bool
	re     *regexp.Regexp
}

// substitution is an s command.
type substitution struct {
	re     *regexp.Regexp
	with   []piece
	global bool
	print  bool
	number int
}

// piece is a part of a replacement: text, or what a group matched.
type piece struct {
	text  string
	group int // -1: text
}

// Parse parses a script of one or more -e expressions. Errors give the
// expression and the character, as GNU sed does.
func Parse(expressions []string, opts Options) (*Program, error) {
	p := &parser{src: strings.Join(expressions, "\n"), opts: opts, labels: map[string]int{}, prog: &Program{quiet: opts.Quiet}}
	if err := p.run(); err != nil {
		return nil, fmt.Errorf("sed: -e expression #1, char %d: %w", p.pos, err)
	}
	return p.prog, nil
}

type parser struct {
	src    string
	pos    int
	opts   Options
	prog   *Program
	blocks []int // indexes of open {
	labels map[string]int
	gotos  []unresolved
	last   *regexp.Regexp // what an empty regular expression stands for
}

// unresolved is a branch to a label.
type unresolved struct {
	command int
	label   string
}

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) skip(set string) {
	for p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) run() error {
	for {
		p.skip(" \t\n;")
		if p.pos >= len(p.src) {
			break
		}
		if err := p.command(); err != nil {
			return err
		}
	}
	if len(p.blocks) > 0 {
		return errors.New("unmatched `{'")
	}
	for _, g := range p.gotos {
		at, ok := p.labels[g.label]
		if g.label == "" {
			at, ok = len(p.prog.commands), true
		}
		if !ok {
			return fmt.Errorf("can't find label for jump to `%s'", g.label)
		}
		p.prog.commands[g.command].jump = at
	}
	return nil
}

func (p *parser) command() error {
	var c command
	var err error
	if c.from, err = p.address(false); err != nil {
		return err
	}
	if c.from != nil {
		p.skip(" \t")
		if p.peek() == ',' {
			p.pos++
			p.skip(" \t")
			if c.to, err = p.address(true); err != nil {
				return err
			}
			if c.to == nil {
				return errors.New("unexpected `,'")
			}
			c.rangeID = p.prog.ranges
			p.prog.ranges++
		}
	}
	p.skip(" \t")
	for p.peek() == '!' {
		c.negated = true
		p.pos++
		p.skip(" \t")
	}
	if p.pos >= len(p.src) {
		return errors.New("missing command")
	}
	c.verb = p.src[p.pos]
	p.pos++
	return p.verb(c)
}

// verb parses what follows the command's letter and adds the command.
func (p *parser) verb(c command) error {
	index := len(p.prog.commands)
	switch c.verb {
	case '#':
		if c.from != nil {
			return errors.New("comments don't accept any addresses")
		}
		for p.pos < len(p.src) && p.src[p.pos] != '\n' {
			p.pos++
		}
		return nil
	case '{':
		p.blocks = append(p.blocks, index)
		p.prog.commands = append(p.prog.commands, c)
		return nil
	case '}':
		if len(p.blocks) == 0 {
			return errors.New("unexpected `}'")
		}
		if c.from != nil {
			return errors.New("} doesn't want any addresses")
		}
		last := len(p.blocks) - 1
		p.prog.commands[p.blocks[last]].jump = index
		p.blocks = p.blocks[:last]
		return p.end()
	case ':':
		if c.from != nil {
			return errors.New(": doesn't want any addresses")
		}
		label := p.label()
		if label == "" {
			return errors.New("\":\" lacks a label")
		}
		p.labels[label] = index
		return nil
	}
	if err := p.arguments(&c, index); err != nil {
		return err
	}
	p.prog.commands = append(p.prog.commands, c)
	return nil
}

// arguments parses a command's own arguments, to its end.
func (p *parser) arguments(c *command, index int) error {
	switch c.verb {
	case 's':
		if err := p.substitution(c); err != nil {
			return err
		}
	case 'y':
		if err := p.transliteration(c); err != nil {
			return err
		}
	case 'a', 'i', 'c':
		return p.text(c)
	case 'b', 't', 'T':
		p.gotos = append(p.gotos, unresolved{index, p.label()})
		return nil
	case 'q', 'Q':
		p.skip(" \t")
		start := p.pos
		p.skip("0123456789")
		c.status, _ = strconv.Atoi(p.src[start:p.pos])
		c.status &= 0xff
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'l', 'n', 'N', 'p', 'P', 'x':
	case 'r', 'R', 'w', 'W', 'e', 'F', 'z', 'v':
		return fmt.Errorf("command `%c' is not supported in the lab's sed", c.verb)
	default:
		return fmt.Errorf("unknown command: `%c'", c.verb)
	}
	return p.end()
}

// end wants the end of a command.
func (p *parser) end() error {
	p.skip(" \t")
	switch p.peek() {
	case ';', '\n':
		p.pos++
	case '}', '#':
	default:
		if p.pos < len(p.src) {
			return errors.New("extra characters after command")
		}
	}
	return nil
}

func (p *parser) label() string {
	p.skip(" \t")
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] != '\n' && p.src[p.pos] != ';' && p.src[p.pos] != '}' {
		p.pos++
	}
	return strings.TrimSpace(p.src[start:p.pos])
}

func (p *parser) number() int {
	start := p.pos
	p.skip("0123456789")
	n, err := strconv.Atoi(p.src[start:p.pos])
	if err != nil {
		return 1 << 30
	}
	return n
}

// address parses an address, or returns nil if there is none.
func (p *parser) address(second bool) (*address, error) {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		a := &address{line: p.number(), step: -1}
		if p.peek() == '~' && !second {
			p.pos++
			a.step = p.number()
		} else if a.line == 0 && (second || p.peek() != ',') {
			return nil, errors.New("invalid usage of line address 0")
		}
		return a, nil
	case c == '$':
		p.pos++
		return &address{last: true, step: -1}, nil
	case c == '+' && second:
		p.pos++
		return &address{line: p.number(), offset: true, step: -1}, nil
	case c == '/' || c == '\\':
		if c == '\\' {
			p.pos++
		}
		delim := p.peek()
		p.pos++
		text, ok := p.delimited(delim, true)
		if !ok {
			return nil, errors.New("unterminated address regex")
		}
		fold := false
		if p.peek() == 'I' {
			fold = true
			p.pos++
		}
		re, err := p.regexp(text, fold)
		return &address{re: re, step: -1}, err
	}
	return nil, nil
}

// delimited reads up to an unescaped delim; an escaped one loses its backslash,
// and one in brackets of a regular expression is an ordinary character.
func (p *parser) delimited(delim byte, re bool) (string, bool) {
	var b strings.Builder
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == delim:
			p.pos++
			return b.String(), true
		case c == '\\' && p.pos+1 < len(p.src):
			p.pos++
			if p.src[p.pos] != delim {
				b.WriteByte('\\')
			}
			b.WriteByte(p.src[p.pos])
		case c == '[' && re:
			end := bracketEnd(p.src[p.pos:])
			b.WriteString(p.src[p.pos : p.pos+end])
			p.pos += end
			continue
		case c == '\n' && re:
			return "", false
		default:
			b.WriteByte(c)
		}
		p.pos++
	}
	return "", false
}

// bracketEnd is the length of the bracket expression s begins with; 1 if it
// never ends.
func bracketEnd(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			if end := strings.Index(s[i+2:], s[i+1:i+2]+"]"); end >= 0 {
				i += end + 3
				continue
			}
		}
		if s[i] == ']' {
			return i + 1
		}
	}
	return 1
}

func (p *parser) regexp(text string, fold bool) (*regexp.Regexp, error) {
	if text == "" {
		if p.last == nil {
			return nil, errors.New("no previous regular expression")
		}
		return p.last, nil
	}
	syntax := posixre.Basic
	if p.opts.Extended {
		syntax = posixre.Extended
	}
	re, err := posixre.Compile(text, syntax, fold)
	p.last = re
	return re, err
}
