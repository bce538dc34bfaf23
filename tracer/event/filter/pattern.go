package filter

import (
	"strings"

	"ftracelab/tracer/glob"
)

// pattern is what a text is compared with.
//
// Kernel: struct regex, kernel/trace/trace.h.
type pattern struct {
	text  string
	match match
	not   bool
}

// match is how a pattern's text is looked for.
//
// Kernel: enum regex_type, kernel/trace/trace.h.
type match uint8

const (
	full match = iota
	front
	middle
	end
	globbed
)

// newPattern makes a pattern of a text and ==, != or ~.
//
// Kernel: filter_build_regex, kernel/trace/trace_events_filter.c.
func newPattern(s string, o op) pattern {
	if o != opGlob {
		return pattern{text: s, not: o == opNE}
	}
	s, not := strings.CutPrefix(s, "!")
	p := parseGlob(s)
	p.not = not
	return p
}

// parseGlob finds the simplest way to match a glob: a * at one end or at both
// needs no glob matcher. A text that begins with a digit is taken literally,
// because the kernel uses such patterns elsewhere as a function's number.
//
// Kernel: filter_parse_regex, kernel/trace/trace_events_filter.c.
func parseGlob(s string) pattern {
	if s != "" && isDigit(s[0]) {
		return pattern{text: s}
	}
	inner, first := strings.CutPrefix(s, "*")
	inner, last := strings.CutSuffix(inner, "*")
	switch {
	case strings.ContainsAny(inner, `*[?\`):
		return pattern{text: s, match: globbed}
	case first && last:
		return pattern{text: inner, match: middle}
	case first:
		return pattern{text: inner, match: end}
	case last:
		return pattern{text: inner, match: front}
	}
	return pattern{text: s}
}

// matches compares a text of a declared size. If s is shorter, the rest counts
// as NULs, which end a text. A size of 0 means a text that only a NUL ends.
//
// Kernel: regex_match_full and its kin, kernel/trace/trace_events_filter.c.
func matches[S string | []byte](p *pattern, s S, size int) bool {
	return found(p, s, size) != p.not
}

func found[S string | []byte](p *pattern, s S, size int) bool {
	n := len(p.text)
	if size > 0 {
		s = s[:min(len(s), size)]
	}
	switch p.match {
	case full:
		return cLength(s) == n && at(s, 0, p.text)
	case front:
		return (size == 0 || size >= n) && cLength(s) >= n && at(s, 0, p.text)
	case middle:
		return within(s, p.text, size)
	case end:
		return size > n && at(s, size-1-n, p.text)
	}
	return glob.Match(p.text, s[:globLength(s, size)])
}

// globLength is how much of a text a glob looks at; of a text of size 0 that is
// nothing.
func globLength[S string | []byte](s S, size int) int {
	if size == 0 {
		return 0
	}
	return cLength(s)
}

// within looks for a text anywhere in the declared size, even after a NUL.
func within[S string | []byte](s S, text string, size int) bool {
	if size == 0 {
		s = s[:cLength(s)]
	}
	for i := 0; i+len(text) <= len(s); i++ {
		if at(s, i, text) {
			return true
		}
	}
	return text == ""
}

// cLength is the length up to the first NUL.
func cLength[S string | []byte](s S) int {
	for i := range len(s) {
		if s[i] == 0 {
			return i
		}
	}
	return len(s)
}

// at reports whether text stands in s from i on.
func at[S string | []byte](s S, i int, text string) bool {
	if i+len(text) > len(s) {
		return text == ""
	}
	return string(s[i:i+len(text)]) == text
}
