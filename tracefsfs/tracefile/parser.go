package tracefile

import (
	"strings"
	"syscall"
)

// Parser takes words out of writes: a word may be spread over several.
// The zero Size is 128 bytes, the ending NUL of the kernel's buffer included.
//
// Kernel: struct trace_parser and trace_get_user, kernel/trace/trace.h and
// trace.c.
type Parser struct {
	Size int
	word []byte // of a word whose end was not seen yet
}

// Get takes the next word of p. It returns how many bytes it used, blank behind
// the word included, and the word; none if p holds only blanks or ends inside a
// word. The caller comes again with p[n:], as a program does after a short
// write(2). A NUL ends the word without being used up as a blank. A word that
// does not fit is EINVAL.
func (t *Parser) Get(p []byte) (n int, word string, err error) {
	if len(t.word) == 0 {
		for n < len(p) && IsSpace(p[n]) {
			n++
		}
	}
	for n < len(p) && !IsSpace(p[n]) && p[n] != 0 {
		if len(t.word) >= t.size()-1 {
			t.word = t.word[:0]
			return 0, "", Errorf(syscall.EINVAL, "a word of %d bytes or more", t.size())
		}
		t.word = append(t.word, p[n])
		n++
	}
	if n == len(p) {
		return n, "", nil // the word may go on
	}
	n++
	return n, t.Rest(), nil
}

// Rest returns the word begun and not ended, and forgets it.
func (t *Parser) Rest() string {
	word := string(t.word)
	t.word = t.word[:0]
	return word
}

func (t *Parser) size() int {
	if t.Size == 0 {
		return 128
	}
	return t.Size
}

// IsSpace reports whether c is a blank for the kernel, whose characters are those of Latin-1.
//
// Kernel: isspace, include/linux/ctype.h.
func IsSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' || c == 0xa0 }

// CString is s up to its first NUL: a kernel that has copied a write into a buffer sees no
// more of it. Programs in C often write the NUL at the end of a string, too.
func CString(s string) string {
	text, _, _ := strings.Cut(s, "\x00")
	return text
}

// Stripped is the [CString] of s without the blanks around it.
//
// Kernel: strim, lib/string_helpers.c.
func Stripped(s string) string {
	text := CString(s)
	for text != "" && IsSpace(text[0]) {
		text = text[1:]
	}
	for text != "" && IsSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}
