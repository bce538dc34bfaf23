package coreutils

import (
	"fmt"
	"strconv"
	"strings"

	"ftracelab/internal/userland/tool"
)

// wholeWrite makes echo and printf one write(2), however long the text.
const wholeWrite = 1 << 24

// Echo is bash's: -n, -e and -E are options.
func Echo(c *tool.Call) int {
	c.Stdout.Block = wholeWrite
	newline, escapes := true, false
	args := c.Args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, f := range args[0][1:] {
			switch f {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		var b strings.Builder
		if !expandEscapes(&b, text, true) {
			newline = false
		}
		text = b.String()
	}
	if newline {
		text += "\n"
	}
	fmt.Fprint(c.Stdout, text)
	return 0
}

// expandEscapes writes s with its backslash escapes expanded; it stops and says
// false at \c. zero: octal is \0NNN, as echo and %b have it.
func expandEscapes(b *strings.Builder, s string, zero bool) bool {
	const from, to = "abefnrtv\\", "\a\b\x1b\f\n\r\t\v\\"
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte(from, s[i]); at >= 0 {
			b.WriteByte(to[at])
			continue
		}
		switch {
		case s[i] == 'c':
			return false
		case s[i] == 'x' && i+1 < len(s) && isHex(s[i+1]):
			end := i + 1
			for end < len(s) && end < i+3 && isHex(s[end]) {
				end++
			}
			n, _ := strconv.ParseUint(s[i+1:end], 16, 8)
			b.WriteByte(byte(n))
			i = end - 1
		case s[i] >= '0' && s[i] <= '7' && (!zero || s[i] == '0'):
			start := i
			if zero {
				start++
			}
			end := start
			for end < len(s) && end < start+3 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			n, _ := strconv.ParseUint("0"+s[start:end], 8, 16)
			b.WriteByte(byte(n))
			i = end - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// Printf repeats its format until the words are used up.
func Printf(c *tool.Call) int {
	c.Stdout.Block = wholeWrite
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Usage("usage: printf format [arguments]")
	}
	if args[0] == "-v" {
		return c.Usage("option -v is not in the lab")
	}
	p := printer{c: c, format: args[0], args: args[1:]}
	for {
		before := len(p.args)
		if !p.once() || len(p.args) == 0 || len(p.args) == before || c.Stopped() {
			return p.status
		}
	}
}

// printer is one run of printf.
type printer struct {
	c      *tool.Call
	format string
	args   []string
	status int
}

func (p *printer) next() (string, bool) {
	if len(p.args) == 0 {
		return "", false
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg, true
}

// once writes the format once; false ends printf.
func (p *printer) once() bool {
	var b strings.Builder
	defer func() { fmt.Fprint(p.c.Stdout, b.String()) }()
	for i := 0; i < len(p.format); {
		if b.Len() > tool.CopyBlock {
			fmt.Fprint(p.c.Stdout, b.String())
			b.Reset()
			if p.c.Stopped() {
				return false
			}
		}
		rest := p.format[i:]
		switch rest[0] {
		case '\\':
			end := min(len(rest), 4)
			for n := 2; n <= end; n++ { // the longest escape that is one
				if !isEscapeOf(rest[:n]) {
					end = n - 1
					break
				}
			}
			end = max(end, min(2, len(rest)))
			if !expandEscapes(&b, rest[:end], false) {
				return false
			}
			i += end
		case '%':
			n, more := p.conversion(&b, rest)
			if !more {
				return false
			}
			i += n
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return true
}

// isEscapeOf: does s, which begins with a backslash, hold one escape only?
func isEscapeOf(s string) bool {
	if len(s) <= 2 {
		return true
	}
	digits := s[1:]
	if s[1] == 'x' {
		digits = s[2:]
		return len(digits) <= 2 && strings.IndexFunc(digits, func(r rune) bool { return r > 127 || !isHex(byte(r)) }) < 0
	}
	return len(digits) <= 3 && strings.Trim(digits, "01234567") == ""
}

// conversion writes one % conversion and returns its length.
func (p *printer) conversion(b *strings.Builder, s string) (int, bool) {
	n := 1
	spec := "%"
	for n < len(s) && strings.IndexByte("-+ #0", s[n]) >= 0 {
		spec += s[n : n+1]
		n++
	}
	for n < len(s) && (s[n] == '.' || s[n] == '*' || s[n] >= '0' && s[n] <= '9') {
		if s[n] == '*' {
			arg, _ := p.next()
			spec += strconv.Itoa(max(tool.ToInt(arg), 0))
		} else {
			spec += s[n : n+1]
		}
		n++
	}
	if width := strings.Trim(spec, "%-+ #0"); len(width) > 12 || tooWide(width) {
		fmt.Fprintf(p.c.Stderr, "printf: %s: width is too large\n", spec)
		p.status = 1
		return 0, false
	}
	if n == len(s) {
		b.WriteString(spec)
		return n, true
	}
	verb := s[n]
	n++
	switch verb {
	case '%':
		b.WriteByte('%')
	case 's', 'b':
		arg, _ := p.next()
		if verb == 'b' {
			var e strings.Builder
			more := expandEscapes(&e, arg, true)
			fmt.Fprintf(b, strings.ReplaceAll(spec, "0s", "s")+"s", e.String())
			return n, more
		}
		fmt.Fprintf(b, spec+"s", arg)
	case 'c':
		arg, _ := p.next()
		fmt.Fprintf(b, spec+"s", arg[:min(1, len(arg))])
	case 'd', 'i':
		fmt.Fprintf(b, spec+"d", p.number())
	case 'u':
		fmt.Fprintf(b, spec+"d", uint64(p.number()))
	case 'o', 'x', 'X':
		fmt.Fprintf(b, spec+string(verb), uint64(p.number()))
	case 'f', 'e', 'g', 'F', 'E', 'G':
		arg, _ := p.next()
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil && arg != "" {
			p.invalid(arg)
		}
		if !strings.Contains(spec, ".") {
			spec += ".6"
		}
		fmt.Fprintf(b, spec+string(verb), v)
	default:
		fmt.Fprintf(p.c.Stderr, "printf: %%%c: invalid directive\n", verb)
		p.status = 1
		return 0, false
	}
	return n, true
}

func tooWide(width string) bool {
	for part := range strings.SplitSeq(width, ".") {
		if tool.ToInt("0"+part) > 1<<16 {
			return true
		}
	}
	return false
}

// number is the next word as C's strtol reads it, or 'c for a character.
func (p *printer) number() int64 {
	arg, ok := p.next()
	if !ok || arg == "" {
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		if len(arg) > 1 {
			return int64(arg[1])
		}
		return 0
	}
	text := strings.TrimLeft(arg, " \t")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return int64(n)
	}
	p.invalid(arg)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && text[end] == '-') {
		end++
	}
	n, _ := strconv.ParseInt(text[:end], 10, 64)
	return n
}

func (p *printer) invalid(arg string) {
	fmt.Fprintf(p.c.Stderr, "printf: %s: invalid number\n", arg)
	p.status = 1
}
