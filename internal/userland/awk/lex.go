package awk

import (
	"fmt"
	"strconv"
	"strings"
)

type kind int

const (
	tokEOF     kind = iota
	tokNewline      // a newline or a semicolon is told apart by text
	tokNumber
	tokString
	tokRegexp
	tokName
	tokFunc    // a name with ( right behind it, or a built-in function
	tokKeyword // BEGIN, if, print …
	tokOp
)

type token struct {
	kind   kind
	text   string // of an operator or keyword; the value of a string or regexp
	num    float64
	line   int
	spaced bool // blank before it
}

// lexer makes tokens of a program. Whether a slash divides or begins a regular
// expression follows from the token before it.
type lexer struct {
	src  string
	pos  int
	line int
	last token
}

func isKeyword(s string) bool {
	switch s {
	case "BEGIN", "END", "if", "else", "while", "for", "do", "break", "continue",
		"next", "exit", "delete", "in", "print", "printf", "getline", "function", "func", "return":
		return true
	}
	return false
}

func isBuiltin(s string) bool {
	switch s {
	case "length", "substr", "index", "split", "sub", "gsub", "match", "tolower",
		"toupper", "sprintf", "int", "sqrt", "exp", "log", "sin", "cos", "atan2":
		return true
	}
	return false
}

func (l *lexer) errorf(format string, args ...any) error {
	return fmt.Errorf("awk: line %d: %s", l.line, fmt.Sprintf(format, args...))
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	spaced := l.skipBlanks()
	t, err := l.scan()
	t.spaced = spaced
	l.last = t
	return t, err
}

func (l *lexer) skipBlanks() bool {
	start := l.pos
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case strings.HasPrefix(l.src[l.pos:], "\\\n"):
			l.pos += 2
			l.line++
		case strings.HasPrefix(l.src[l.pos:], "\\\r\n"):
			l.pos += 3
			l.line++
		case c == '#':
			for l.pos < len(l.src) && l.src[l.pos] != '\n' {
				l.pos++
			}
		default:
			return l.pos > start
		}
	}
	return l.pos > start
}

func (l *lexer) scan() (token, error) {
	t := token{line: l.line}
	if l.pos >= len(l.src) {
		return t, nil
	}
	c := l.src[l.pos]
	switch {
	case c == '\n':
		l.pos++
		l.line++
		t.kind, t.text = tokNewline, "\n"
		return t, nil
	case c == '"':
		return l.scanString(t)
	case c >= '0' && c <= '9', c == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		return l.scanNumber(t)
	case isNameByte(c):
		start := l.pos
		for l.pos < len(l.src) && (isNameByte(l.src[l.pos]) || isDigit(l.src[l.pos])) {
			l.pos++
		}
		t.text = l.src[start:l.pos]
		switch {
		case isKeyword(t.text):
			t.kind = tokKeyword
		case isBuiltin(t.text), l.pos < len(l.src) && l.src[l.pos] == '(':
			t.kind = tokFunc
		default:
			t.kind = tokName
		}
		return t, nil
	case c == '/' && l.regexpMayStart():
		return l.scanRegexp(t)
	}
	t.kind = tokOp
	for _, op := range []string{"&&", "||", "==", "!=", "<=", ">=", "!~", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", ">>"} {
		if strings.HasPrefix(l.src[l.pos:], op) {
			l.pos += len(op)
			t.text = op
			return t, nil
		}
	}
	if !strings.ContainsRune("{}()[];,+-*/%^!<>~?:=$|", rune(c)) {
		return t, l.errorf("unexpected character %q", c)
	}
	l.pos++
	t.text = string(c)
	return t, nil
}

// regexpMayStart: behind a value a slash divides.
func (l *lexer) regexpMayStart() bool {
	switch l.last.kind {
	case tokNumber, tokString, tokName, tokRegexp:
		return false
	case tokFunc:
		return false // "length / 2"
	case tokOp:
		return l.last.text != ")" && l.last.text != "]" && l.last.text != "$" && l.last.text != "++" && l.last.text != "--"
	}
	return true
}

func (l *lexer) scanString(t token) (token, error) {
	var b strings.Builder
	for l.pos++; ; l.pos++ {
		if l.pos >= len(l.src) || l.src[l.pos] == '\n' {
			return t, l.errorf("unterminated string")
		}
		switch c := l.src[l.pos]; c {
		case '"':
			l.pos++
			t.kind, t.text = tokString, b.String()
			return t, nil
		case '\\':
			n := unescape(&b, l.src[l.pos+1:])
			if strings.HasPrefix(l.src[l.pos+1:], "\n") {
				l.line++
			}
			l.pos += n
		default:
			b.WriteByte(c)
		}
	}
}

// unescape writes what a backslash and the start of s stand for and returns how
// much of s that was.
func unescape(b *strings.Builder, s string) int {
	if s == "" {
		b.WriteByte('\\')
		return 0
	}
	const from, to = "abfnrtv\\\"/", "\a\b\f\n\r\t\v\\\"/"
	if i := strings.IndexByte(from, s[0]); i >= 0 {
		b.WriteByte(to[i])
		return 1
	}
	if s[0] == '\n' {
		return 1
	}
	n, v := 0, 0
	for n < len(s) && n < 3 && s[n] >= '0' && s[n] <= '7' {
		v = v<<3 | int(s[n]-'0')
		n++
	}
	if n > 0 {
		b.WriteByte(byte(v))
		return n
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 1
}

func (l *lexer) scanRegexp(t token) (token, error) {
	start := l.pos + 1
	inSet := false
	for l.pos = start; ; l.pos++ {
		if l.pos >= len(l.src) || l.src[l.pos] == '\n' {
			return t, l.errorf("unterminated regular expression")
		}
		switch c := l.src[l.pos]; {
		case c == '\\' && l.pos+1 < len(l.src):
			l.pos++
		case c == '[' && !inSet:
			inSet = true
			if strings.HasPrefix(l.src[l.pos+1:], "^") {
				l.pos++
			}
			if strings.HasPrefix(l.src[l.pos+1:], "]") {
				l.pos++
			}
		case c == '[' && strings.HasPrefix(l.src[l.pos:], "[:"):
			if end := strings.Index(l.src[l.pos:], ":]"); end > 0 {
				l.pos += end + 1
			}
		case c == ']':
			inSet = false
		case c == '/' && !inSet:
			t.kind, t.text = tokRegexp, l.src[start:l.pos]
			l.pos++
			return t, nil
		}
	}
}

func (l *lexer) scanNumber(t token) (token, error) {
	n := numberPrefix(l.src[l.pos:])
	v, err := strconv.ParseFloat(l.src[l.pos:l.pos+n], 64)
	if err != nil && n == 0 {
		return t, l.errorf("bad number")
	}
	l.pos += n
	t.kind, t.num = tokNumber, v
	return t, nil
}

func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isNameByte(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
