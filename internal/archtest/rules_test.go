package archtest

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestRulesNotice: the rules find what they forbid, and permissions that nobody needs.
func TestRulesNotice(t *testing.T) {
	got := compareImports(
		map[string][]string{"a": {"b", "c"}, "gone": nil},
		map[string]map[string]bool{"a": {"b": true, "d": true}, "new": {}},
	)
	want := []string{
		"a imports d, which its row does not allow", "a may import c, which it does not",
		"new has no row in docs/architecture.md", "docs/architecture.md has a row for gone, but there is no such package",
	}
	if !slices.Equal(got, want) {
		t.Errorf("imports: %q, want %q", got, want)
	}
	got = compareUses("wall clock", []string{"a", "b"}, map[string]bool{"b": true, "c": true})
	want = []string{"c uses wall clock, which docs/architecture.md does not allow", "a may use wall clock, which it does not"}
	if !slices.Equal(got, want) {
		t.Errorf("uses: %q, want %q", got, want)
	}
}

func TestReserves(t *testing.T) {
	const call = "; func f(b *ringbuf.Buffer) { b.Reserve(0, 0, 8) }"
	for text, want := range map[string]int{`package x; import "ftracelab/ringbuf"` + call: 1, "package x" + call: 0} {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := reserves(source{file: file}); len(got) != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestFound(t *testing.T) {
	for _, c := range []struct{ text, uses, global string }{
		{`import "time"; var t = time.Now()`, "time, wall clock", ""},
		{`import clock "time"; var t = clock.NewTimer`, "time, wall clock", ""},
		{`import "time"; const d = time.Second`, "time", ""},
		{`import "math/rand/v2"; var n = rand.IntN(3)`, "math/rand/v2", "IntN"},
		{`import "math/rand/v2"; var r *rand.Rand`, "math/rand/v2", ""},
		{`func init() {}`, "init", ""},
		{`type a int; func (a) init() {}`, "", ""},
		{`import "unsafe"; var p unsafe.Pointer`, "unsafe", ""},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package x;"+c.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		uses, global := found(source{file: file})
		if u, g := strings.Join(uses, ", "), strings.Join(global, ", "); u != c.uses || g != c.global {
			t.Errorf("%s: %q and %q, want %q and %q", c.text, u, g, c.uses, c.global)
		}
	}
}
