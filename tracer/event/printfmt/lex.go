package printfmt

import (
	"fmt"
	"strings"
)

// token is one C token. text is the identifier, the punctuation or the
// unescaped string; val and typ belong to numbers and character literals.
type token struct {
	kind tokenKind
	text string
	val  uint64
	typ  ctype
	pos  int
}

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokNumber // character literals too
	tokString
	tokPunct
)

// punctuation lists operators longest first, so that the first match is the token.
var punctuation = []string{
	"<<=", ">>=", "...",
	"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "?", ":", "(", ")", "[", "]", "{", "}", ",", ".", ";", "=",
}

// lex splits src into tokens, ending with one of kind tokEOF.
func lex(src string) ([]token, error) {
	var toks []token
	for i := 0; i < len(src); {
		c := src[i]
		start := i
		var t token
		var err error
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case isLetter(c):
			for i < len(src) && (isLetter(src[i]) || isDigit(src[i])) {
				i++
			}
			t = token{kind: tokIdent, text: src[start:i]}
		case isDigit(c):
			t, i, err = lexNumber(src, i)
		case c == '"':
			t.kind = tokString
			t.text, i, err = lexQuoted(src, i)
		case c == '\'':
			t, i, err = lexChar(src, i)
		default:
			p := matchPunct(src[i:])
			if p == "" {
				return nil, fmt.Errorf("offset %d: unexpected character %q", i, c)
			}
			t = token{kind: tokPunct, text: p}
			i += len(p)
		}
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", start, err)
		}
		t.pos = start
		toks = append(toks, t)
	}
	return append(toks, token{kind: tokEOF, text: "end of text", pos: len(src)}), nil
}

func matchPunct(s string) string {
	for _, p := range punctuation {
		if strings.HasPrefix(s, p) {
			return p
		}
	}
	return ""
}

// lexNumber reads an integer constant and gives it the type that C gives it:
// int if it fits, otherwise the first wider type that its base and suffix
// allow.
func lexNumber(src string, i int) (token, int, error) {
	base := uint64(10)
	switch {
	case strings.HasPrefix(src[i:], "0x") || strings.HasPrefix(src[i:], "0X"):
		base, i = 16, i+2
	case src[i] == '0':
		base = 8
	}
	var v uint64
	digits := 0
	for ; i < len(src); i, digits = i+1, digits+1 {
		d := digitVal(src[i])
		if d >= base {
			break
		}
		v = v*base + d
	}
	if digits == 0 {
		return token{}, i, fmt.Errorf("number without digits")
	}
	unsigned, long := false, false
	for ; i < len(src) && (isLetter(src[i]) || isDigit(src[i])); i++ {
		switch src[i] {
		case 'u', 'U':
			unsigned = true
		case 'l', 'L':
			long = true
		default:
			return token{}, i, fmt.Errorf("bad digit or suffix %q in a number", src[i])
		}
	}
	t := ctype{size: 4, signed: !unsigned}
	if t.signed && v > 1<<31-1 && base != 10 {
		t.signed = false
	}
	if long || v > 1<<32-1 || t.signed && v > 1<<31-1 {
		t = ctype{size: 8, signed: !unsigned && v <= 1<<63-1}
	}
	return token{kind: tokNumber, val: v, typ: t}, i, nil
}

// lexQuoted reads a string literal. A raw line break inside is kept: the kernel
// prints some formats with their \n already expanded.
func lexQuoted(src string, i int) (string, int, error) {
	var b strings.Builder
	for i++; i < len(src); {
		switch c := src[i]; c {
		case '"':
			return b.String(), i + 1, nil
		case '\\':
			var v byte
			v, i = unescape(src, i+1)
			b.WriteByte(v)
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", i, fmt.Errorf("string without its closing quote")
}

func lexChar(src string, i int) (token, int, error) {
	i++
	if i >= len(src) {
		return token{}, i, fmt.Errorf("character without its closing quote")
	}
	v := src[i]
	if v == '\\' {
		v, i = unescape(src, i+1)
	} else {
		i++
	}
	if i >= len(src) || src[i] != '\'' {
		return token{}, i, fmt.Errorf("character without its closing quote")
	}
	return token{kind: tokNumber, val: uint64(v), typ: intType}, i + 1, nil
}

// unescape reads what follows a backslash at src[i-1].
func unescape(src string, i int) (byte, int) {
	if i >= len(src) {
		return '\\', i
	}
	c := src[i]
	switch {
	case c >= '0' && c <= '7':
		v := byte(0)
		for n := 0; n < 3 && i < len(src) && src[i] >= '0' && src[i] <= '7'; n++ {
			v = v<<3 | (src[i] - '0')
			i++
		}
		return v, i
	case c == 'x' && i+1 < len(src) && digitVal(src[i+1]) < 16:
		v := byte(0)
		for i++; i < len(src) && digitVal(src[i]) < 16; i++ {
			v = v<<4 | byte(digitVal(src[i]))
		}
		return v, i
	}
	const from, to = `abefnrtv`, "\a\b\x1b\f\n\r\t\v"
	if k := strings.IndexByte(from, c); k >= 0 {
		c = to[k]
	}
	return c, i + 1
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// digitVal is the value of a digit in any base up to 16, or 255.
func digitVal(c byte) uint64 {
	switch {
	case isDigit(c):
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 255
}
