// Package plain makes text of unknown origin harmless, where a person looks at it.
//
// The names, symbols and comms of a capture may hold anything: escape sequences that a
// terminal obeys, marks that change the direction of the text, invisible characters.
// Here each of them becomes the escape that stands for it in a string of Go or C. So it
// can be seen, and does nothing:
//
//	ESC [31m          \x1b[31m
//	U+202E            \u202e
//	a stray byte 9b   \x9b
//
// All characters that are printable according to unicode.IsPrint stay, except for the
// letters and marks that Unicode asks programs to leave blank. A backslash stays as
// well: the result is meant for reading, and cannot be converted back.
//
// [String] is for text within a line, [Lines] for messages, and [Writer] for whole
// streams on their way to a terminal. [JSON] is for JSON, whose meaning it keeps.
//
// Letters that are written from right to left stay, because they are text. A terminal
// that reorders them may move the punctuation beside them.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// String gives s in one line. Line feeds and tabs are escaped like all other control
// characters.
func String(s string) string {
	if whole(s, "") {
		return s
	}
	return string(escape(nil, s, ""))
}

// Lines gives s with its line feeds and tabs. Each line except the first is indented by
// two columns, so that none of them looks like a message of its own.
func Lines(s string) string {
	return strings.ReplaceAll(string(escape(nil, s, "\n\t")), "\n", "\n  ")
}

// JSON takes JSON from encoding/json and gives the same JSON, in which characters that
// are not harmless are written as \uXXXX. Only strings can hold such characters.
func JSON(text []byte) []byte {
	if whole(string(text), "\n\t") {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range string(text) {
		switch {
		case visible(r) || r == '\n' || r == '\t':
			out = utf8.AppendRune(out, r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
	}
	return out
}

// visible reports whether a terminal shows r and does nothing else.
func visible(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~'
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// whole reports whether escape would leave s as it is.
func whole(s, keep string) bool {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return false
		}
		if !visible(r) && !strings.ContainsRune(keep, r) {
			return false
		}
	}
	return true
}

// escape appends s to out with escapes, except for the characters of keep.
func escape(out []byte, s, keep string) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, s[0])
		case visible(r) || strings.ContainsRune(keep, r):
			out = append(out, s[:n]...)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r < utf8.RuneSelf:
			out = fmt.Appendf(out, `\x%02x`, r)
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\U%08x`, r)
		}
		s = s[n:]
	}
	return out
}
