package posixre

import (
	"errors"
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		pattern string
		syntax  Syntax
		want    string
	}{
		{`^.\([^ ]*\).*`, Basic, `^.([^ ]*).*`},
		{`a*b\{2,3\}`, Basic, `a*b{2,3}`},
		{`*a`, Basic, `\*a`},
		{`\(*a\)`, Basic, `(\*a)`},
		{`a^b$c`, Basic, `a\^b\$c`},
		{`\(^a\|b$\)`, Basic, `(^a|b$)`},
		{`a+?{}|()`, Basic, `a\+\?\{\}\|\(\)`},
		{`a\+b\?`, Basic, `a+b?`},
		{`a+(b|c)?{2}`, Extended, `a+(?:(b|c)?){2}`},
		{`a{x`, Extended, `a\{x`},
		{`a**`, Basic, `a*`},
		{`[]a\]`, Basic, `[\]a\\]`},
		{`[^]-]`, Basic, `[^\]\-]`},
		{`[[:alpha:]_-]`, Extended, `[[:alpha:]_\-]`},
		{`[a-z[.x.]]`, Basic, `[a-zx]`},
		{`\<a\>\w`, Basic, `\ba\b[_[:alnum:]]`},
		{`a\/b[\/]\t\052`, Awk, `a/b[/]	\*`},
		{`{`, Awk, `\{`},
		{`é*`, Extended, `é*`},
	} {
		if got, err := Translate(c.pattern, c.syntax); got != c.want || err != nil {
			t.Errorf("Translate(%q, %d) = %q, %v, want %q", c.pattern, c.syntax, got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		pattern string
		syntax  Syntax
		want    error
	}{
		{`\(a\)\1`, Basic, ErrBackReference},
		{`(a)\1`, Extended, ErrBackReference},
		{`a\{1001\}`, Basic, ErrRepetition},
		{`a{1,2000}`, Extended, ErrRepetition},
		{`\(a`, Basic, nil},
		{`a\)`, Basic, nil},
		{`(a`, Extended, nil},
		{`[a`, Basic, nil},
		{`[[:foo:]]`, Basic, nil},
		{`a\`, Basic, nil},
		{`[z-a]`, Basic, nil},
		{`a\{1`, Basic, nil},
	} {
		_, err := Compile(c.pattern, c.syntax, false)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("Compile(%q): %v, want %v", c.pattern, err, c.want)
		}
	}
}

// Matches are leftmost and longest, groups greedy from the left.
func TestLongest(t *testing.T) {
	for _, c := range []struct{ pattern, s, want string }{
		{`a\|ab`, "xab", "ab"},
		{`\(.*\)b\(.*\)`, "abab", "abab|aba|"},
		{`x*`, "xxy", "xx"},
	} {
		re, err := Compile(c.pattern, Basic, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(re.FindStringSubmatch(c.s), "|"); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.pattern, c.s, got, c.want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{`^.\([^ ]*\).*`, `a{2,3}|(b)`, `[[:alpha:]-]`, `[]a]`, `a**+?`, `\<\n\052[\]]`, "é[é-ü]", `\{`, `a\{1,`} {
		for syntax := Basic; syntax <= Awk; syntax++ {
			f.Add(seed, int(syntax), "some text 42")
		}
	}
	f.Fuzz(func(t *testing.T, pattern string, syntax int, text string) {
		if len(pattern) > 200 {
			return
		}
		re, err := Compile(pattern, Syntax(uint(syntax)%3), false)
		if err == nil {
			re.FindStringSubmatchIndex(text)
		}
	})
}
