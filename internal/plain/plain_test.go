package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var cases = []struct{ in, line, lines string }{
	{"", "", ""},
	{"kworker/0:1-events", "kworker/0:1-events", "kworker/0:1-events"},
	{"Grüße – 漢字 ×", "Grüße – 漢字 ×", "Grüße – 漢字 ×"},
	{`a\x1b`, `a\x1b`, `a\x1b`},
	{"\x1b[31mred\x1b]0;title\a", `\x1b[31mred\x1b]0;title\x07`, `\x1b[31mred\x1b]0;title\x07`},
	{"a\rb\bc\x7f", `a\rb\x08c\x7f`, `a\rb\x08c\x7f`},
	{"a\tb\nc", `a\tb\nc`, "a\tb\n  c"},
	{"\u009b31m\u0085", `\u009b31m\u0085`, `\u009b31m\u0085`}, // C1, as characters
	{"\x9b31m\xff\xc2", `\x9b31m\xff\xc2`, `\x9b31m\xff\xc2`}, // and as bytes
	{"\u202aa\u202b\u202c\u202d\u202e", `\u202aa\u202b\u202c\u202d\u202e`, `\u202aa\u202b\u202c\u202d\u202e`},
	{"\u2066\u2067\u2068\u2069\u200e\u200f\u061c", `\u2066\u2067\u2068\u2069\u200e\u200f\u061c`, `\u2066\u2067\u2068\u2069\u200e\u200f\u061c`},
	{"\u2028\u2029\u200b\u200d\ufeff\u00ad\u2060", `\u2028\u2029\u200b\u200d\ufeff\u00ad\u2060`, `\u2028\u2029\u200b\u200d\ufeff\u00ad\u2060`},
	{"\u3164\u115f\u034f\ufe0f\U000e0041", `\u3164\u115f\u034f\ufe0f\U000e0041`, `\u3164\u115f\u034f\ufe0f\U000e0041`}, // blank, though letters and marks
	{"\ufffd\xed\xa0\x80", "\ufffd" + `\xed\xa0\x80`, "\ufffd" + `\xed\xa0\x80`},
}

func TestString(t *testing.T) {
	for _, c := range cases {
		if got := String(c.in); got != c.line {
			t.Errorf("String(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := Lines(c.in); got != c.lines {
			t.Errorf("Lines(%q) = %q, want %q", c.in, got, c.lines)
		}
	}
}

// TestWriter: the result is the same, however the stream is cut into writes.
func TestWriter(t *testing.T) {
	for _, c := range cases {
		want := strings.ReplaceAll(c.lines, "\n  ", "\n")
		for size := 1; size <= len(c.in); size++ {
			var out bytes.Buffer
			w := NewWriter(&out)
			for at := 0; at < len(c.in); at += size {
				part := c.in[at:min(at+size, len(c.in))]
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Errorf("%q in parts of %d is %q, want %q", c.in, size, out.String(), want)
			}
		}
	}
	long := strings.Repeat("ä\x1b", chunk)
	var out bytes.Buffer
	if _, err := NewWriter(&out).Write([]byte("x" + long)); err != nil || out.String() != "x"+strings.ReplaceAll(long, "\x1b", `\x1b`) {
		t.Errorf("a long write is not itself: %v", err)
	}
}

// failing accepts n writes and then fails.
type failing int

func (f *failing) Write(p []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestWriterFails(t *testing.T) {
	f := failing(1)
	if n, err := NewWriter(&f).Write(bytes.Repeat([]byte("a"), chunk+1)); n != chunk || err == nil {
		t.Errorf("Write = %d, %v, want %d and an error", n, err, chunk)
	}
}

// FuzzString: the result of String is harmless, does not change if it is escaped again,
// and is the same as a Writer gives.
func FuzzString(f *testing.F) {
	for _, c := range cases {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := String(s)
		for _, r := range got {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("String(%q) has %U", s, r)
			}
		}
		if !utf8.ValidString(got) || String(got) != got {
			t.Errorf("String(%q) = %q, and again %q", s, got, String(got))
		}
		if !strings.ContainsAny(s, "\n\t") && Lines(s) != got {
			t.Errorf("Lines(%q) = %q, String %q", s, Lines(s), got)
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		for i := range len(s) {
			if _, err := w.Write([]byte{s[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil || out.String() != strings.ReplaceAll(Lines(s), "\n  ", "\n") && !strings.Contains(s, "\n  ") {
			t.Errorf("the stream of %q is %q", s, out.String())
		}
	})
}

// FuzzJSON: the result means the same and has only harmless characters.
func FuzzJSON(f *testing.F) {
	for _, c := range cases {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := json.MarshalIndent(map[string]string{s: s}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(text)
		if !whole(string(safe), "\n\t") {
			t.Errorf("%q", safe)
		}
		var before, after map[string]string
		if err := errors.Join(json.Unmarshal(text, &before), json.Unmarshal(safe, &after)); err != nil {
			t.Fatal(err)
		}
		for k, v := range before {
			if after[k] != v || len(after) != 1 {
				t.Errorf("%q became %q", before, after)
			}
		}
	})
}
