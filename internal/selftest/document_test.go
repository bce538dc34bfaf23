//go:build unix

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/selftests.md anew")

// docs/selftests.md is what needs.txt and notes.txt say, and has each test of expected.txt.
func TestDocument(t *testing.T) {
	want, err := document()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "selftests.md")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/selftests.md is out of date: go test ./internal/selftest -run TestDocument -update")
	}
	results, err := readExpected("")
	if err != nil {
		t.Fatal(err)
	}
	for r := range results {
		row := strings.Contains(want, "| "+r.test+" |") || strings.Contains(want, "* "+r.test+"\n")
		if row == strings.HasPrefix(r.test, addedFolder+"/") {
			t.Errorf("%s: in the document: %v", r, row)
		}
	}
}

// Each part can be taken out: its functions are there, and what is built instead compiles.
func TestPartsCompile(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			overlay, err := p.overlay(top, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"build", "-overlay", overlay}
			for _, c := range p.cuts {
				args = append(args, "./"+filepath.Dir(c.file))
			}
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Dir = top
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A cut ends the function that it names, of all with that name, and nothing else.
func TestCut(t *testing.T) {
	const text = "package p\n\ntype a struct{}\n\nfunc f() int { return 1 }\nfunc (a) f() int { return 2 }\nfunc (*b) f() int {\n\treturn 3\n}\n"
	for function, want := range map[string]string{
		"f":   strings.Replace(text, "func f() int {", "func f() int { if true { return 0 };", 1),
		"a.f": strings.Replace(text, "func (a) f() int {", "func (a) f() int { if true { return 0 };", 1),
		"b.f": strings.Replace(text, "func (*b) f() int {", "func (*b) f() int { if true { return 0 };", 1),
		"c.f": "",
	} {
		got, err := cut{"p.go", function, "return 0"}.apply([]byte(text))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", function, got, err, want)
		}
	}
}

// What is wrong in the lists is told with its line.
func TestListErrors(t *testing.T) {
	for text, want := range map[string]string{
		"filter":                    `needs.txt:1: want a part, a test and perhaps "instance"`,
		"# a\n\nfilter a b":         `needs.txt:3: want a part, a test and perhaps "instance"`,
		"flter a":                   `needs.txt:1: -without "flter": there is only `,
		"filter a\nfilter a\n":      "needs.txt:2: a is there twice",
		"filter a instance\nfilter": "needs.txt:2: want a part",
	} {
		if _, err := readNeeded(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := readNotes("# a\nb\n"); err == nil || err.Error() != "notes.txt:2: want a heading before the first sentence" {
		t.Error(err)
	}
}

// The tests that notice are those with another result than the expected one.
func TestPrintNoticed(t *testing.T) {
	var out strings.Builder
	printNoticed(&out, "filter", []*testCase{
		{Test: "a", Result: "PASS"}, {Test: "b", Result: "FAIL"}, {Test: "b", Instance: true, Result: hung},
	}, map[testRun]string{{"a", false}: "PASS", {"b", false}: "PASS", {"b", true}: "PASS"})
	const want = "filter   b\nfilter   b instance\n# without filter: 2 of 3 notice\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
