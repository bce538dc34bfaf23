package lineedit

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ftracelab/internal/testutil"
)

// above is what a screen shows before the line.
var above = []string{"first", "second", "漢字"}

// begin is an editor and its terminal, which shows some lines already.
func begin(width, height int, older bool) (*Editor, *testutil.Screen) {
	e := New(Config{
		History:  past{"cat trace", "echo 漢字漢字漢字漢字漢字", "one\ntwo"},
		Complete: func(line string, pos int) (string, int, []string) { return line, pos, nil },
	})
	e.Resize(width, height)
	s := testutil.NewScreen(width, height)
	s.Older = older
	fmt.Fprint(s, strings.Join(above, "\r\n")+"\r\n")
	e.Begin("漢# ")
	return e, s
}

// check compares the terminal with the line: its rows, the cursor, what is below, and,
// if the line never filled the screen, what is above.
func check(t interface{ Fatalf(string, ...any) }, e *Editor, s *testutil.Screen, untouched bool) {
	sent := e.Draw()
	_, _ = s.Write(sent)
	text, pos := e.cursor()
	if settle(text, pos) != pos || !utf8.ValidString(text) {
		t.Fatalf("the cursor is at %d of %q", pos, text)
	}
	p := layOut(e.prompt(), text, pos, e.width)
	if len(p.rows) > e.height {
		p.rows, p.cursor.row = p.rows[e.top:e.top+e.height], p.cursor.row-e.top
	}
	x, y := s.Cursor()
	if first := y - p.cursor.row; first < 0 || x != p.cursor.column {
		t.Fatalf("the cursor is at %d,%d, not %v, after %q\n%v", x, y, p.cursor, sent, s)
	} else if !s.Older {
		for i := range s.Height {
			var want strings.Builder
			switch {
			case i >= first && i < first+len(p.rows):
				for _, c := range p.rows[i-first].cells {
					want.WriteString(c.text)
				}
			case i < first && untouched:
				want.WriteString(above[len(above)-first+i])
			case i < first:
				continue
			}
			if got := s.Row(i); got != strings.TrimRight(want.String(), " ") {
				t.Fatalf("row %d is %q, not %q, after %q\n%v", i, got, want.String(), sent, s)
			}
		}
	}
}

// texts are typed by the tests, with clusters of all kinds.
var texts = []string{
	"a", "b", " ", "word ", "-", "漢", "字", "e\u0301", "\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "🇩", "⚡", "❤\ufe0f", "👍🏽", "\u202e", "ก็", "각", "한", "ﷺ",
	"\x1b[200~one\n漢\ttwo\x1b[201~", "\x16\x01", "\u200b", "０", "\u3000",
}

// moves are keys that are not text.
var moves = strings.Fields("<left> <right> <left> <right> <home> <end> <up> <down> <bs> <del> <c-w> <a-b> <a-f> <a-d> <c-k> <c-u> <c-y> <a-y> <c-t> <c-_> <c-r> <c-g> <c-s> <c-p> <c-n> <a-.> <tab> <f5> <esc>")

// TestScreenIsTheLine: after any keys, the terminal shows the line and its cursor, as it
// would if it were drawn anew, and nothing else is changed. A terminal that takes other
// clusters to be wide than the editor does has the cursor in the right column all the same.
func TestScreenIsTheLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(6, 30).Draw(t, "width"), rapid.IntRange(1, 12).Draw(t, "height")
		if rapid.Bool().Draw(t, "tiny") {
			width = rapid.IntRange(1, 8).Draw(t, "tiny width")
		}
		older := width >= 8 && rapid.Bool().Draw(t, "older")
		e, s := begin(width, height, older)
		untouched := width >= 6 && len(above) < height
		for range rapid.IntRange(1, 40).Draw(t, "keys") {
			var typed string
			if rapid.Bool().Draw(t, "text") {
				typed = rapid.SampledFrom(texts).Draw(t, "typed")
			} else {
				typed = string(keys(rapid.SampledFrom(moves).Draw(t, "key")))
			}
			e.Feed([]byte(typed))
			text, pos := e.cursor()
			untouched = untouched && len(layOut(e.prompt(), text, pos, width).rows) <= height-len(above)
			check(t, e, s, untouched)
		}
	})
}

// TestResizing: a terminal that wraps its lines anew shows the line once, and what was
// above it.
func TestResizing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, s := begin(rapid.IntRange(10, 40).Draw(t, "width"), 40, false)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				width := rapid.IntRange(10, 40).Draw(t, "new width")
				s.Resize(width, 40)
				e.Resize(width, 40)
			case 1:
				e.Feed(keys(rapid.SampledFrom(moves[:8]).Draw(t, "key")))
			default:
				e.Feed([]byte(rapid.SampledFrom([]string{"a", "漢", "e\u0301", "some words ", "\x1b[200~x\ny\x1b[201~"}).Draw(t, "typed")))
			}
			check(t, e, s, true)
		}
	})
}

// FuzzFeed: whatever is typed, the terminal shows the line.
func FuzzFeed(f *testing.F) {
	f.Add([]byte("echo 漢字\x1b[D\x1b[D\x7f\x12cat\x12\x07\x1b[200~a\nb\x1b[201~\x0b\x19\x1by"), uint8(20), uint8(5))
	f.Add([]byte("\xff\xe6\xbc\x1b[999999999999999999999999999999999999999A\x1bO\x1b\x1b[1;5C\x16\x1b"), uint8(1), uint8(1))
	f.Add([]byte("🇩🇪🇩\x02\x02👩\u200d\x02👩\x14\x14\x1f\x1f\t\x0c"), uint8(7), uint8(3))
	f.Fuzz(func(t *testing.T, typed []byte, width, height uint8) {
		e, s := begin(max(1, int(width)), max(1, int(height)%60), false)
		for len(typed) > 0 {
			n, state := e.Feed(typed)
			if state != Editing {
				_, _ = s.Write(e.Draw())
				if state == Ended { // the cursor is still behind the prompt
					fmt.Fprint(s, "\r\n")
				}
				e.Begin("漢# ")
			} else if n == 0 {
				break
			}
			typed = typed[n:]
			check(t, e, s, false)
		}
	})
}
