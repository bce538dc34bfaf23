package sed

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

func edit(t *testing.T, script, in string, o Options) (string, int) {
	t.Helper()
	p, err := Parse([]string{script}, o)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	var out strings.Builder
	status, err := p.Run(context.Background(), Config{Inputs: []io.Reader{strings.NewReader(in)}, Stdout: &out})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return out.String(), status
}

const five = "one two\nthree  four\nfive a.b\n# six\nseven\n"

// The outputs are GNU sed 4.9's.
func TestScripts(t *testing.T) {
	quiet, extended := Options{Quiet: true}, Options{Extended: true}
	for _, c := range []struct {
		script  string
		o       Options
		in, out string
	}{
		{`s/\(.\)\(.\)/\2\1/`, Options{}, five, "noe two\nhtree  four\nifve a.b\n #six\nesven\n"},
		{`/three/,/# six/p`, quiet, five, "three  four\nfive a.b\n# six\n"},
		{`$!N;P;D`, Options{}, five, five},
		{`H;${x;s/\n/,/g;p}`, quiet, five, ",one two,three  four,five a.b,# six,seven\n"},
		{`1!G;h;$!d`, Options{}, "a\nb\nc\n", "c\nb\na\n"},
		{":a\ns/^\\(.\\{1,5\\}\\)$/ \\1/\nta", Options{}, "x\n", "     x\n"},
		{`0,/o/d`, Options{}, "o\no\np\n", "o\np\n"},
		{`1~2d`, Options{}, five, "three  four\n# six\n"},
		{`2,1d`, Options{}, "a\nb\nc\n", "a\nc\n"},
		{`/five/,+1d`, Options{}, five, "one two\nthree  four\nseven\n"},
		{`2,3c changed`, Options{}, "a\nb\nc\nd\n", "a\nchanged\nd\n"},
		{`2a\` + "\nfoo\\\nbar", Options{}, "a\nb\nc\n", "a\nb\nfoo\nbar\nc\n"},
		{`s/(o+|e)/[\1]/2g`, extended, "one oops\n", "on[e] [oo]ps\n"},
		{`s/x*/-/g`, Options{}, "abc\n", "-a-b-c-\n"},
		{`s/[/]/x/;s|b|\||;s,c,\,,`, Options{}, "a/bc\n", "ax|,\n"},
		{`l`, quiet, "tab\there\x01\n", "tab\\there\\001$\n"},
		{`p`, Options{}, "no newline", "no newline\nno newline"},
		{`y/abc\n/xyz /;N;y/\n/ /`, Options{}, "a\nb\n", "x b\n"},
	} {
		if got, _ := edit(t, c.script, c.in, c.o); got != c.out {
			t.Errorf("%s\ngot  %q\nwant %q", c.script, got, c.out)
		}
	}
	if got, status := edit(t, "2q5", five, Options{}); got != "one two\nthree  four\n" || status != 5 {
		t.Errorf("q: %q, status %d", got, status)
	}
}

func TestErrors(t *testing.T) {
	for script, want := range map[string]string{
		"s/a":      "unterminated `s' command",
		"s/a/b/k":  "extra characters",
		"s/a/\\1/": "invalid reference \\1",
		"{p":       "unmatched `{'",
		"p}":       "unexpected `}'",
		"k":        "unknown command",
		"b nope":   "can't find label",
		"y/ab/c/":  "different lengths",
		"w file":   "not supported",
		"1,p":      "unexpected `,'",
		"0p":       "line address 0",
		"/a":       "unterminated address",
		"//p":      "no previous regular expression",
	} {
		if _, err := Parse([]string{script}, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

func TestContextEndsLoop(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	p, err := Parse([]string{":a;ba"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(ctx, Config{Inputs: []io.Reader{strings.NewReader("x\n")}, Stdout: io.Discard}); err == nil {
		t.Error("an endless loop ended without an error")
	}
}

func FuzzRun(f *testing.F) {
	for _, seed := range []string{`s/\(.\)b*/\1&/2gp;ta;:a`, "$!N;P;D", "1~2{/x/!d;y/ab/cd/}", "2,4c\\\ntext", "0,/a/s//b/", `/[/]]/,+2l;=;x;G;q3`, "a x\nb", "s,[],],[,"} {
		f.Add(seed, five, true)
	}
	f.Fuzz(func(t *testing.T, script, in string, extended bool) {
		p, err := Parse([]string{script}, Options{Extended: extended})
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		p.Run(ctx, Config{Inputs: []io.Reader{strings.NewReader(in)}, Stdout: io.Discard})
	})
}
