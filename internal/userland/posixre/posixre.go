// Package posixre reads the regular expressions of grep, sed and awk (POSIX
// basic and extended, with the GNU additions in daily use) and makes Go regular
// expressions of them.
//
//	^[^ ]*\(foo\|bar\)\{2\}   basic      ^[^ ]*(foo|bar){2}
//	a+b?(c|d)                 extended   a+b?(c|d)
//
// Matching is leftmost-longest, as POSIX has it. What Go's linear-time engine
// cannot do is refused by name, never matched differently in silence: back
// references, and repetitions above 1000.
//
// Departure: \< and \> are \b, which also matches at the other end of a word;
// the two differ only in front of or behind an expression that can match no
// word character.
package posixre

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Syntax is a dialect of regular expression.
type Syntax int

// The dialects.
const (
	Basic    Syntax = iota // grep, sed
	Extended               // grep -E, sed -E
	Awk                    // extended, and backslash escapes hold inside brackets too
)

// Errors that Translate wraps, beside those of the expression's syntax.
var (
	ErrBackReference = errors.New("back references are not supported in the lab")
	ErrRepetition    = errors.New("repetition is not supported above 1000")
)

// Compile translates pattern and compiles it; fold ignores case.
func Compile(pattern string, syntax Syntax, fold bool) (*regexp.Regexp, error) {
	text, err := Translate(pattern, syntax)
	if err != nil {
		return nil, err
	}
	flags := "(?s)"
	if fold {
		flags = "(?is)"
	}
	re, err := regexp.Compile(flags + text)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	re.Longest()
	return re, nil
}

// Translate gives the Go syntax of pattern, where a dot matches newline too
// under the flag s that Compile sets.
func Translate(pattern string, syntax Syntax) (string, error) {
	t := translator{in: pattern, syntax: syntax, atom: -1}
	if err := t.run(); err != nil {
		return "", fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	return t.out.String(), nil
}

type translator struct {
	in       string
	pos      int
	syntax   Syntax
	out      strings.Builder
	atom     int   // where in out the last atom begins; -1: there is none to repeat
	repeated bool  // the last atom has an operator already
	groups   []int // where in out each open group begins
}

func (t *translator) basic() bool { return t.syntax == Basic }

func (t *translator) run() error {
	for t.pos < len(t.in) {
		if err := t.step(); err != nil {
			return err
		}
	}
	if len(t.groups) > 0 {
		return errors.New("unmatched ( or \\(")
	}
	return nil
}

// step translates one element.
func (t *translator) step() error {
	c := t.in[t.pos]
	t.pos++
	switch {
	case c == '\\':
		return t.escape()
	case c == '[':
		return t.bracket()
	case c == '.':
		t.put(".")
	case c == '*':
		if t.atom < 0 {
			t.literal('*') // nothing to repeat
			return nil
		}
		t.repeat("*")
	case c == '^' && (!t.basic() || t.atStart()):
		t.anchor("^")
	case c == '$' && (!t.basic() || t.atEnd()):
		t.anchor("$")
	case t.basic():
		t.literal(c)
	default:
		return t.operator(c)
	}
	return nil
}

// operator translates an operator of the extended syntax, or a literal.
func (t *translator) operator(c byte) error {
	switch c {
	case '+', '?':
		if t.atom < 0 {
			t.literal(c)
			return nil
		}
		t.repeat(string(c))
	case '{':
		if t.atom >= 0 && intervalAhead(t.in[t.pos:]) {
			return t.interval("}")
		}
		t.literal(c)
	case '(':
		t.open()
	case ')':
		if len(t.groups) == 0 && t.syntax == Extended {
			return errors.New("unmatched ) or \\)")
		}
		return t.close()
	case '|':
		t.alternative()
	default:
		t.literal(c)
	}
	return nil
}

// escape translates what follows a backslash.
func (t *translator) escape() error {
	if t.pos == len(t.in) {
		return errors.New("trailing backslash")
	}
	c := t.in[t.pos]
	t.pos++
	if t.basic() {
		switch c {
		case '(':
			t.open()
			return nil
		case ')':
			return t.close()
		case '|':
			t.alternative()
			return nil
		case '{':
			if t.atom < 0 {
				return errors.New("invalid preceding regular expression")
			}
			return t.interval(`\}`)
		case '+', '?':
			if t.atom < 0 {
				t.literal(c)
			} else {
				t.repeat(string(c))
			}
			return nil
		}
	}
	if c >= '1' && c <= '9' && t.syntax != Awk {
		return ErrBackReference
	}
	if t.syntax == Awk || c == 'n' || c == 't' {
		if v, n, ok := controlEscape(t.in[t.pos-1:]); ok {
			t.pos += n - 1
			t.put(regexp.QuoteMeta(string(rune(v))))
			return nil
		}
	}
	t.class(c)
	return nil
}

// class translates the GNU escapes that stand for a class or a boundary.
func (t *translator) class(c byte) {
	switch c {
	case 'w':
		t.put("[_[:alnum:]]")
	case 'W':
		t.put("[^_[:alnum:]]")
	case 's':
		t.put("[[:space:]]")
	case 'S':
		t.put("[^[:space:]]")
	case 'b', '<', '>', 'y':
		t.anchor(`\b`)
	case 'B':
		t.anchor(`\B`)
	case '`':
		t.anchor(`\A`)
	case '\'':
		t.anchor(`\z`)
	default:
		t.literal(c)
	}
}

// controlEscape reads \n, \t, \/ and octal as awk does; s begins behind the backslash.
func controlEscape(s string) (v byte, n int, ok bool) {
	const from, to = "abfnrtv\"/", "\a\b\f\n\r\t\v\"/"
	if i := strings.IndexByte(from, s[0]); i >= 0 {
		return to[i], 1, true
	}
	for n < len(s) && n < 3 && s[n] >= '0' && s[n] <= '7' {
		v = v<<3 | (s[n] - '0')
		n++
	}
	return v, n, n > 0
}

func (t *translator) put(atom string) {
	t.atom, t.repeated = t.out.Len(), false
	t.out.WriteString(atom)
}

func (t *translator) literal(c byte) {
	if c >= 0x80 { // part of a multi-byte character: take all of it
		end := t.pos
		for end < len(t.in) && t.in[end]&0xC0 == 0x80 {
			end++
		}
		t.put(regexp.QuoteMeta(t.in[t.pos-1 : end]))
		t.pos = end
		return
	}
	t.put(regexp.QuoteMeta(string(c)))
}

// anchor writes something of no width, which cannot be repeated.
func (t *translator) anchor(s string) {
	t.out.WriteString(s)
	t.atom = -1
}

// repeat puts an operator behind the last atom; Go wants a**'s a* in a group.
func (t *translator) repeat(op string) {
	if t.repeated {
		if op == "*" && strings.HasSuffix(t.out.String(), "*") {
			return // a** is a*
		}
		text := t.out.String()
		t.out.Reset()
		t.out.WriteString(text[:t.atom] + "(?:" + text[t.atom:] + ")")
	}
	t.out.WriteString(op)
	t.repeated = true
}

func (t *translator) open() {
	t.groups = append(t.groups, t.out.Len())
	t.out.WriteByte('(')
	t.atom = -1
}

func (t *translator) close() error {
	if len(t.groups) == 0 {
		if !t.basic() {
			t.literal(')')
			return nil
		}
		return errors.New("unmatched ) or \\)")
	}
	last := len(t.groups) - 1
	t.atom, t.repeated = t.groups[last], false
	t.groups = t.groups[:last]
	t.out.WriteByte(')')
	return nil
}

func (t *translator) alternative() {
	t.out.WriteByte('|')
	t.atom = -1
}

// atStart: a basic ^ is an anchor at the start of an expression or group.
func (t *translator) atStart() bool {
	before := t.in[:t.pos-1]
	return before == "" || strings.HasSuffix(before, `\(`) || strings.HasSuffix(before, `\|`) || strings.HasSuffix(before, "\n")
}

// atEnd: a basic $ is an anchor at the end of an expression or group.
func (t *translator) atEnd() bool {
	after := t.in[t.pos:]
	return after == "" || strings.HasPrefix(after, `\)`) || strings.HasPrefix(after, `\|`) || strings.HasPrefix(after, "\n")
}

// intervalAhead: without m} or m,n} behind it an extended { is a brace.
func intervalAhead(s string) bool {
	end := strings.IndexByte(s, '}')
	if end <= 0 {
		return false
	}
	return strings.Trim(s[:end], "0123456789,") == "" && strings.Count(s[:end], ",") <= 1
}

func (t *translator) interval(closing string) error {
	body, _, found := strings.Cut(t.in[t.pos:], closing)
	if !found {
		return errors.New("unmatched { or \\{")
	}
	t.pos += len(body) + len(closing)
	low, high, ranged := strings.Cut(body, ",")
	if low == "" {
		low = "0"
	}
	for _, bound := range []string{low, high} {
		if bound == "" {
			continue
		}
		n, err := strconv.Atoi(bound)
		if err != nil || n < 0 {
			return fmt.Errorf("invalid content of \\{\\}: %q", body)
		}
		if n > 1000 {
			return ErrRepetition
		}
	}
	if !ranged {
		t.repeat("{" + low + "}")
	} else {
		t.repeat("{" + low + "," + high + "}")
	}
	return nil
}

// bracket translates a bracket expression; pos is behind its [.
func (t *translator) bracket() error {
	var set strings.Builder
	set.WriteByte('[')
	if strings.HasPrefix(t.in[t.pos:], "^") {
		set.WriteByte('^')
		t.pos++
	}
	for first := true; ; first = false {
		if t.pos == len(t.in) {
			return errors.New("unmatched [, [^, [:, [. or [=")
		}
		if t.in[t.pos] == ']' && !first {
			t.pos++
			break
		}
		if strings.HasPrefix(t.in[t.pos:], "[:") {
			name, _, ok := strings.Cut(t.in[t.pos+2:], ":]")
			if !ok || !isClass(name) {
				return errors.New("invalid character class name")
			}
			set.WriteString("[:" + name + ":]")
			t.pos += len(name) + 4
			continue
		}
		if err := t.bracketRange(&set); err != nil {
			return err
		}
	}
	set.WriteByte(']')
	t.put(set.String())
	return nil
}

// bracketRange translates one member or a range of a bracket expression.
func (t *translator) bracketRange(set *strings.Builder) error {
	low, err := t.bracketChar()
	if err != nil {
		return err
	}
	set.WriteString(quoteMember(low))
	rest := t.in[t.pos:]
	if len(rest) < 2 || rest[0] != '-' || rest[1] == ']' {
		return nil
	}
	t.pos++
	high, err := t.bracketChar()
	if err != nil {
		return err
	}
	if high < low {
		return errors.New("invalid range end")
	}
	set.WriteString("-" + quoteMember(high))
	return nil
}

// bracketChar reads one character: x, [.x.], [=x=] or, in awk, an escape.
func (t *translator) bracketChar() (string, error) {
	rest := t.in[t.pos:]
	for _, mark := range []string{".", "="} {
		if strings.HasPrefix(rest, "["+mark) {
			name, _, ok := strings.Cut(rest[2:], mark+"]")
			if !ok || len(name) != 1 {
				return "", errors.New("invalid collation character")
			}
			t.pos += 5
			return name, nil
		}
	}
	if t.syntax == Awk && rest[0] == '\\' && len(rest) > 1 {
		if v, n, ok := controlEscape(rest[1:]); ok {
			t.pos += n + 1
			return string(rune(v)), nil
		}
		t.pos += 2
		return rest[1:2], nil
	}
	n := 1
	for n < len(rest) && rest[0] >= 0xC0 && rest[n]&0xC0 == 0x80 {
		n++
	}
	t.pos += n
	return rest[:n], nil
}

func quoteMember(s string) string {
	if len(s) == 1 && strings.Contains(`\[]^-&~`, s) {
		return `\` + s
	}
	return s
}

func isClass(name string) bool {
	switch name {
	case "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit":
		return true
	}
	return false
}
