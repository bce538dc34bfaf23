package lineedit

import (
	"slices"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// past is a history; the last line is the newest.
type past []string

func (p past) Len() int        { return len(p) }
func (p past) At(n int) string { return p[len(p)-1-n] }

// what keys are called in the tests.
var typedAs = strings.NewReplacer("<up>", "\x1b[A", "<down>", "\x1bOB", "<left>", "\x1b[D", "<right>", "\x1b[C",
	"<home>", "\x1b[H", "<end>", "\x1b[4~", "<del>", "\x1b[3~", "<bs>", "\x7f", "<c-left>", "\x1b[1;5D", "<c-right>", "\x1b[1;5C",
	"<paste>", "\x1b[200~", "<pasted>", "\x1b[201~", "<f5>", "\x1b[15~", "<esc>", "\x1b", "<tab>", "\t", "<enter>", "\r",
	"<c-a>", "\x01", "<c-b>", "\x02", "<c-c>", "\x03", "<c-d>", "\x04", "<c-e>", "\x05", "<c-f>", "\x06", "<c-g>", "\x07",
	"<c-k>", "\x0b", "<c-l>", "\x0c", "<c-n>", "\x0e", "<c-p>", "\x10", "<c-r>", "\x12", "<c-s>", "\x13", "<c-t>", "\x14",
	"<c-u>", "\x15", "<c-v>", "\x16", "<c-w>", "\x17", "<c-y>", "\x19", "<c-_>", "\x1f", "<a-", "\x1b", ">", "")

// keys is what a test calls keys, as bytes. Alt is <a-x>.
func keys(text string) []byte {
	return []byte(strings.ReplaceAll(typedAs.Replace(strings.ReplaceAll(text, ">>", "\x00")), "\x00", ">"))
}

// TestKeys: what each key does to a line; | is the cursor.
func TestKeys(t *testing.T) {
	old := past{"cat trace", "echo 1 > tracing_on", "cat set_event", "cat set_event", "ls 漢字"}
	for _, c := range []struct{ typed, want string }{
		{"abc", "abc|"},
		{"abc<left><left>x", "ax|bc"},
		{"abc<c-a>x<c-e>y", "xabcy|"},
		{"abc<home><right>x<end>y", "axbcy|"},
		{"abc<c-b><c-b><c-f>x", "abx|c"},
		{"ab<c-b><c-d>", "a|"},
		{"abc<home><del><del>", "|c"},
		{"abc<bs>", "ab|"},
		{"<bs><left><del>", "|"},
		{"echo one-two<a-b>x", "echo one-x|two"},
		{"echo one<a-b><a-b><a-f>x", "echox| one"},
		{"echo one<c-left><c-left><c-right>x", "echox| one"},
		{"echo one two<a-b><a-b><a-d>", "echo | two"},
		{"echo one-two<c-w>", "echo |"},
		{"echo one-two<a-\x7f>", "echo one-|"},
		{"one two three<a-b><c-k>", "one two |"},
		{"one two three<a-b><c-u>", "|three"},
		{"one two<c-w><c-w>x<c-y>", "xone two|"},
		{"one two<c-a><a-d><a-d>x<c-y>", "xone two|"},
		{"one<c-u>two<c-u><c-y><a-y>", "one|"},
		{"one<c-u>two<c-u><c-y><a-y><a-y>", "two|"},
		{"ab<c-t>", "ba|"},
		{"abcd<left><left><c-t>", "acb|d"},
		{"a<c-t>", "a|"},
		{"abc<c-w>x<c-_><c-_>", "abc|"},
		{"abc<c-_>", "|"},
		{"a<c-v>\x01b", "a\x01b|"},
		{"a<f5>b<esc>\x01c", "cab|"[:1] + "|ab"},
		{"漢字<left>x", "漢x|字"},
		{"漢字<bs>", "漢|"},
		{"e\u0301a<left><bs>", "|a"},
		{"👩\u200d👩\u200d👧x<left><left>y", "y|👩\u200d👩\u200d👧x"},
		{"🇩🇪🇫🇷<bs>", "🇩🇪|"},
		{"<up>", "ls 漢字|"},
		{"<up><up>", "cat set_event|"},
		{"new<c-p><c-p><c-n><c-n>", "new|"},
		{"new<up><up><up><up><up><up><up>", "cat trace|"},
		{"new<a-<>", "cat trace|"},
		{"new<a-<><a->>>", "new|"},
		{"<down>", "|"},
		{"x <a-.>", "x 漢字|"},
		{"x <a-.><a-.>", "x set_event|"},
		{"x <a-.><a-.><a-.><a-.><a-.><a-.><a-.>", "x trace|"},
		{"<c-r>cat", "|cat set_event"},
		{"<c-r>cat<c-r>", "|cat trace"},
		{"<c-r>cat<c-r><c-s>", "|cat set_event"},
		{"<c-r>trac<c-r>", "cat |trace"},
		{"<c-r>tracx", "echo 1 > |tracing_on"},
		{"<c-r>tracx<bs>e", "cat |trace"},
		{"new<c-r>cat<c-g>", "new|"},
		{"new<left><c-r>cat<c-g>", "ne|w"},
		{"<c-r>cat<c-e>x", "cat set_eventx|"},
		{"<c-r>cat<esc><c-e>x", "cat set_eventx|"},
		{"<c-r>cat<right>", "c|at set_event"},
		{"<c-r>cat<c-e><up>", "cat set_event|"},
		{"<c-r>on<c-g><c-r><c-r>", "echo 1 > tracing_|on"},
		{"on<c-r><c-r>", "echo 1 > tracing_|on"},
		{"a<paste>b\r\nc\td\x1b[31m<pasted>e", "ab\nc\td[31me|"},
		{"<paste>one\rtwo\n\n<pasted>", "one\ntwo|"},
		{"<paste>one\ntwo\nthree<pasted><up><c-a>x", "one\nx|two\nthree"},
		{"<paste>one\ntwo<pasted><up><c-k>", "one|two"},
		{"<paste>one\ntwo<pasted><up><c-k><c-k>", "one|"},
		{"<paste>漢字漢\nab<pasted><up>x<down>", "漢x|字漢\nab"[:3] + "x字漢\nab|"},
		{"\xff\xc3(", "\ufffd\ufffd(|"},
	} {
		e := New(Config{History: old})
		e.Begin("# ")
		typed := keys(c.typed)
		n, state := e.Feed(typed)
		if got := e.Line()[:e.pos] + "|" + e.Line()[e.pos:]; got != c.want || n != len(typed) || state != Editing {
			t.Errorf("%s: %q, want %q; took %d of %d bytes, state %d", c.typed, got, c.want, n, len(typed), state)
		}
	}
}

// TestStates: what ends a line, and what is left of the input for the next one.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		typed string
		state State
		line  string
		left  string
	}{
		{"ab<enter>next", Accepted, "ab", "next"},
		{"ab\nnext", Accepted, "ab", "next"},
		{"ab<c-c>next", Interrupted, "ab", "next"},
		{"<c-d>x", Ended, "", "x"},
		{"a<bs><c-d>x", Ended, "", "x"},
		{"<c-r>two<enter>", Accepted, "one two", ""},
		{"<c-r>two<c-c>", Interrupted, "one two", ""},
		{"ab\x1b[", Editing, "ab", "\x1b["},
		{"ab\xe6\xbc", Editing, "ab", "\xe6\xbc"},
		{"<esc><c-c>", Interrupted, "", ""},
		{"\x1b[1;<c-c>", Interrupted, "", ""},
		{"<paste>a\x03b\x1b[20", Editing, "", "\x1b[20"},
	} {
		e := New(Config{History: past{"one two"}})
		e.Begin("# ")
		typed := keys(c.typed)
		n, state := e.Feed(typed)
		if state != c.state || e.Line() != c.line || string(typed[n:]) != c.left {
			t.Errorf("%s: state %d, line %q, left %q", c.typed, state, e.Line(), typed[n:])
		}
	}
}

// TestPasteInParts: pasted text comes in parts, cut anywhere. One whose end was lost does
// not keep Ctrl-C from ending the line.
func TestPasteInParts(t *testing.T) {
	typed := keys("<paste>漢字 one\ntwo<pasted>.")
	for size := 1; size < len(typed); size++ {
		e := New(Config{})
		e.Begin("")
		var left []byte
		for part := range slices.Chunk(typed, size) {
			left = append(left, part...)
			n, _ := e.Feed(left)
			left = left[n:]
		}
		if e.Line() != "漢字 one\ntwo." || len(left) > 0 {
			t.Errorf("in parts of %d: %q, left %q", size, e.Line(), left)
		}
	}
	e := New(Config{})
	e.Begin("")
	e.Feed(keys("a<paste>lost"))
	if _, state := e.Feed([]byte{3}); state != Interrupted {
		t.Errorf("state %d", state)
	}
}

// TestScreens: what is on the screen.
func TestScreens(t *testing.T) {
	names := []string{"tracing_cpumask", "tracing_on", "漢字", "tracing_thresh", "x"}
	for _, c := range []struct {
		name          string
		width, height int
		typed, want   string
	}{
		{"wraps", 10, 5, "0123456789ab", "# 01234567\n89ab|\n"},
		{"full", 10, 5, "01234567", "# 01234567\n|\n"},
		{"full, cursor left", 10, 5, "01234567<left>", "# 0123456|7\n"},
		{"wide at the edge", 10, 5, "0123456漢字", "# 0123456\n漢字|\n"},
		{"marks", 10, 5, "e\u0301e\u0301e\u0301<left>", "# e\u0301e\u0301|e\u0301\n"},
		{"a mark on nothing", 10, 5, "<paste>\u0301a<pasted><left>", "# ◌\u0301|a\n"},
		{"escapes", 12, 5, "<paste>a\u202eb<pasted>c<left>", "# a\\u202eb|c\n"},
		{"tab", 20, 5, "<paste>a\tb<pasted><left>", "# a     |b\n"},
		{"lines", 10, 5, "<paste>one\ntwo<pasted><up>", "# one|\ntwo\n"},
		{"deletes rows", 10, 5, "0123456789abcdefghijklmn<c-u>x", "# x|\n"},
		{"interrupts", 10, 5, "abc<left><c-c>", "# abc^C\n|\n"},
		{"search", 40, 5, "<c-r>tw", "(reverse-i-search)`tw': one |two\n"},
		{"failed search", 40, 5, "<c-r>tq", "(failed reverse-i-search)`tq': one |two\n"},
		{"list", 40, 6, "t<tab>", "# t\ntracing_cpumask  tracing_thresh\ntracing_on       x\n漢字\n# t|\n"},
		{"long list", 20, 5, "t<tab>", "# t\ntracing_cpumask\ntracing_on\n… and 3 more\n# t|\n"},
		{"clears", 20, 5, "t<tab><c-l>", "# t|\n"},
		{"more than the screen", 10, 3, "0123456789012345678901234567890123456789", "8901234567\n8901234567\n89|\n"},
		{"its beginning", 10, 3, "0123456789012345678901234567890123456789<c-a>", "# |01234567\n8901234567\n8901234567\n"},
	} {
		e := New(Config{History: past{"one two"}, Complete: func(line string, pos int) (string, int, []string) { return line, pos, names }})
		e.Resize(c.width, c.height)
		e.Begin("# ")
		s := testutil.NewScreen(c.width, c.height)
		e.Feed(keys(c.typed))
		_, _ = s.Write(e.Draw())
		if got := s.WithCursor("|"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
