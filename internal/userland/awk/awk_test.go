package awk

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

const records = "a b 3\nfoo bar 10\n\nx 2 1e3 z\n"

func runProgram(t *testing.T, src, in string) string {
	t.Helper()
	p, err := Parse(src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	var out strings.Builder
	if _, err := p.Run(context.Background(), Config{Stdin: strings.NewReader(in), Stdout: &out}); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return out.String()
}

// What the language says, beside the comparisons with mawk in the shell's tests.
func TestLanguage(t *testing.T) {
	for _, c := range []struct{ src, in, want string }{
		{`{ $5 = "e"; print; NF = 2; print; $0 = "p q r"; print $3, NF }`, "a b c\n", "a b c  e\na b\nr 3\n"},
		{`BEGIN { print 1 == 1.0, "a" < "b", 10 < 9, "10" < "9", x == 0, x == "" }`, "", "1 1 0 1 1 1\n"},
		{`$1 == 10 { print "n" } $1 == "10" { print "s" }`, "10.0\n10\n", "n\nn\ns\n"},
		{`BEGIN { print 2^3^2, -2^2, !0 !1, 1 - 1 - 1, 7 % 4 * 2, 1 " " -1 }`, "", "512 -4 10 -1 6 1-1\n"},
		{`BEGIN { print substr("hello", 2, 3), substr("hello", 0, 2), substr("hello", -1), index("abc", "c") }`, "", "ell h hello 3\n"},
		{`BEGIN { print 1e6, 0.1, 1/3, 2^53, 1e300 * 1e300 }`, "", "1000000 0.1 0.333333 9007199254740992 inf\n"},
		{`BEGIN { RS = "" } { print NR ": " $1 "-" NF }`, "\n\na b\nc\n\n\nd\n", "1: a-3\n2: d-1\n"},
		{`BEGIN { a["x", 1] = 2; if (("x", 1) in a) print "in"; for (k in a) { split(k, p, SUBSEP); print p[1] p[2] } }`, "", "in\nx1\n"},
		{`BEGIN { a["z"]; a["b"]; a["y"]; delete a["b"]; a["b"]; for (k in a) printf "%s ", k }`, "", "z y b "},
		{`{ print length } END { print length() }`, "ab\n\n", "2\n0\n0\n"},
		{`/foo/, /x/ { print NR } END { print NR }`, records, "2\n3\n4\n4\n"},
		{`BEGIN { if (1) print "a"; else print "b"; if (!1)
			print "c"
		else
			print "d" }`, "", "a\nd\n"},
		{`BEGIN { do { i++; if (i == 2) continue; if (i > 4) break } while (1); print i }`, "", "5\n"},
		{`BEGIN { s = "aaa"; print gsub(/a/, "[&]", s), s; t = "x"; sub(/x/, "\\&", t); print t; print gsub(/q*/, "-", t) t }`, "", "3 [a][a][a]\n&\n2-&-\n"},
		{`BEGIN { printf "%5.2f|%-5s|%c%c|%d|%x|%5d%%|%s\n", 3.14159, "ab", 65, "zz", "12abc", 255, 7 }`, "", " 3.14|ab   |Az|12|ff|    7%|\n"},
		{`BEGIN { print (3 > 2) ? "y" : "n"; x = y = 4; x += 2; x ^= 2; print x, y, x++ + ++x }`, "", "y\n36 4 74\n"},
		{`BEGIN { print length "x", -"3x", +"0x10", "3" + "4" }`, "", "0x -3 0 7\n"},
		{`!seen[$1]++`, "a\nb\na\n", "a\nb\n"},
		{"# comment\n\n\nBEGIN { print 1; # two\n}\n\nEND { print \\\n NR }", "a\n", "1\n1\n"},
	} {
		if got := runProgram(t, c.src, c.in); got != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", c.src, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for src, want := range map[string]string{
		"{ print $1":                           "} is missing",
		"BEGIN { x = 1 +":                      "syntax error",
		"function f() {}":                      "functions are not supported",
		`{ print > "file" }`:                   "output to files",
		`{ "date" | getline }`:                 "not supported",
		"BEGIN { break }":                      "outside a loop",
		"/(/":                                  "unmatched (",
		`BEGIN { system("ls") }`:               "not supported",
		"BEGIN { split(1) }":                   "wrong number",
		"BEGIN { \"abc":                        "unterminated string",
		"BEGIN { " + strings.Repeat("(", 1000): "too deeply",
	} {
		if _, err := Parse(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
	for src, want := range map[string]string{
		"BEGIN { print 1 / 0 }":                                       "division by zero",
		"BEGIN { $100000000 = 1 }":                                    "field",
		"BEGIN { $(-1) }":                                             "field",
		`BEGIN { x = "xxxxxxxx"; while (1) x = x x }`:                 "too long",
		`BEGIN { x = sprintf("%60000d", 1); while (1) a[i++] = x i }`: "arrays hold more",
		`BEGIN { printf "%9999999d", 1 }`:                             "too large",
	} {
		p, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(context.Background(), Config{Stdout: io.Discard}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}

func TestContextEndsLoop(t *testing.T) {
	p, err := Parse("BEGIN { while (1) n++ }")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Run(ctx, Config{Stdout: io.Discard}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("endless loop ended with %v", err)
	}
}

func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		`{ n[$1]++ } END { for (k in n) print k, n[k] }`, `NR > 1 && /x/, $2 ~ "b" { gsub(/[a-z]+/, "<&>"); print }`,
		`BEGIN { printf "%5.2f %c %*d\n", 3, 65, 4, 2; exit 3 }`, `{ $3 = ""; NF = 7; print $NF; delete a }`,
		`{ if (x ? y : z) next; else do { i++ } while (i < 3) }`, `BEGIN { print substr("abc", -1e300, 1e308), -x^2 in a }`, "{print $1\n", `/[/]/`,
	} {
		f.Add(seed, records)
	}
	f.Fuzz(func(t *testing.T, src, in string) {
		p, err := Parse(src)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		p.Run(ctx, Config{Stdin: strings.NewReader(in), Stdout: io.Discard, Stderr: io.Discard})
	})
}
