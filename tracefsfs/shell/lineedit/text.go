package lineedit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// clusters calls yield with where each cluster of a text begins, the cluster, and the
// columns it takes on a terminal.
func clusters(text string, yield func(at int, cluster string, width int) bool) {
	g := displaywidth.StringGraphemes(text)
	for at := 0; g.Next(); at += len(g.Value()) {
		if !yield(at, g.Value(), g.Width()) {
			return
		}
	}
}

// Width is how many columns a text takes on a terminal.
func Width(text string) int { return displaywidth.String(text) }

// settle moves a place in a text forward to where a cluster begins.
func settle(text string, pos int) int {
	if pos = min(max(pos, 0), len(text)); pos == len(text) {
		return pos
	}
	found := len(text)
	clusters(text, func(at int, _ string, _ int) bool {
		if at >= pos {
			found = at
			return false
		}
		return true
	})
	return found
}

// previous is where the cluster before a place begins.
func previous(text string, pos int) int {
	found := 0
	clusters(text, func(at int, _ string, _ int) bool {
		if at >= pos {
			return false
		}
		found = at
		return true
	})
	return found
}

// next is where the cluster at a place ends.
func next(text string, pos int) int { return settle(text, pos+1) }

// partOfWord: Alt-B, Alt-F and their like stop at what is neither letter nor digit.
func partOfWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

// wordLeft is where the word before a place begins.
func wordLeft(text string, pos int) int {
	before := strings.TrimRightFunc(text[:pos], func(r rune) bool { return !partOfWord(r) })
	return len(strings.TrimRightFunc(before, partOfWord))
}

// wordRight is where the word behind a place ends.
func wordRight(text string, pos int) int {
	behind := strings.TrimLeftFunc(text[pos:], func(r rune) bool { return !partOfWord(r) })
	return len(text) - len(strings.TrimLeftFunc(behind, partOfWord))
}

// argumentLeft is where what is written without a space before a place begins.
func argumentLeft(text string, pos int) int {
	before := strings.TrimRightFunc(text[:pos], unicode.IsSpace)
	return len(strings.TrimRightFunc(before, func(r rune) bool { return !unicode.IsSpace(r) }))
}

// lineStart and lineEnd are the ends of the line that a place is in, in a text of
// several lines.
func lineStart(text string, pos int) int { return strings.LastIndexByte(text[:pos], '\n') + 1 }

func lineEnd(text string, pos int) int {
	if n := strings.IndexByte(text[pos:], '\n'); n >= 0 {
		return pos + n
	}
	return len(text)
}

// pasted is a pasted text as it goes into the line. Its lines end as here, and control
// characters are left out: nobody saw them before they were pasted.
func pasted(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	return strings.TrimRight(text, "\n")
}
