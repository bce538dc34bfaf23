package shell

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// FuzzCommand runs one of the shell's commands with any arguments and input: it ends,
// panics nowhere and has a status that a program can have.
func FuzzCommand(f *testing.F) {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	for n, name := range names {
		for _, arg := range []string{"", "-n\x001,3p", "-k2,3nr\x00-t:", "-f1,3-\x00-d ", "a-z\x00A-Z", "%5.3d|%-8s\\n\x0012\x00x", "5\x00+\x00(\x003\x00)", "bs=3\x00count=2", "--\x00-x"} {
			if n%3 == 0 || name == "sort" || name == "cut" || name == "tr" || name == "printf" || name == "expr" || name == "dd" {
				f.Add(uint8(n), arg, "a b c\n3 2 1\n\n")
			}
		}
	}
	f.Add(uint8(slices.Index(names, "lookup")), "", "") // a command with fewer words than it counted on
	f.Fuzz(func(t *testing.T, which uint8, args, input string) {
		l := newLab(t)
		script := names[int(which)%len(names)]
		for arg := range strings.SplitSeq(args, "\x00") {
			quoted, err := syntax.Quote(arg, syntax.LangBash)
			if err != nil {
				return // no script can have it
			}
			script += " " + quoted
		}
		quoted, err := syntax.Quote(input, syntax.LangBash)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		status, err := l.sh.Run(ctx, strings.NewReader("printf %s "+quoted+" | "+script), "fuzz")
		if status < 0 || status > 255 || err != nil && ctx.Err() == nil {
			t.Errorf("%q: status %d, %v", script, status, err)
		}
	})
}
