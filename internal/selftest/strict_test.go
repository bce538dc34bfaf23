//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// A negation becomes an assertion, and nothing else changes: what acts on the
// result itself keeps its meaning.
func TestMakeStrict(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"! grep -q x trace", "if grep -q x trace; then echo 'STRICT: line 1 succeeded'; exit 1; else echo t:1 >> '/held'; fi"},
		{"\t! cat a | grep b", "\tif cat a | grep b; then echo 'STRICT: line 1 succeeded'; exit 1; else echo t:1 >> '/held'; fi"},
		{"! grep -q x trace || do_reset", "! grep -q x trace || do_reset"},
		{"if ! grep -q x trace; then", "if ! grep -q x trace; then"},
		{"if !grep x; then", "if !grep x; then"},
		{"#! a comment", "#! a comment"},
		{"!grep x", "!grep x"},
	} {
		got, names := makeStrict("t", []byte(c.line+"\n"), "/held")
		if string(got) != c.want+"\n" || (len(names) == 1) != (c.want != c.line) {
			t.Errorf("%q becomes %q, %v, want %q", c.line, got, names, c.want)
		}
	}
}

// What was compared with the kernel is a line that is asserted.
func TestChecked(t *testing.T) {
	dir := testutil.FromEnv(t, "FTRACELAB_SELFTESTS", "tools/testing/selftests/ftrace of Linux 6.12")
	s, err := copySuite(dir, "", filepath.Join(t.TempDir(), "suite"), true)
	if err != nil {
		t.Fatal(err)
	}
	asserted := map[string]bool{}
	for _, c := range s.cases {
		for _, name := range c.assertions {
			asserted[name] = true
		}
	}
	if len(asserted) != 72 {
		t.Errorf("the suite has %d assertions, want 72", len(asserted))
	}
	for name := range checked {
		if !asserted[name] {
			t.Errorf("%s is no assertion", name)
		}
	}
}

// A run says what was true, what was not come to and what nobody has checked.
func TestPrintStrict(t *testing.T) {
	s := &suite{held: filepath.Join(t.TempDir(), "held")}
	if err := os.WriteFile(s.held, []byte("00basic/trace_pipe:15\nnew:1\nnew:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	bad, err := s.printStrict(&out, []*testCase{
		{Test: "00basic/trace_pipe", Result: "PASS", assertions: []string{"00basic/trace_pipe:15"}},
		{Test: "new", Result: "PASS", assertions: []string{"new:1", "new:2"}},
		{Test: "kprobe/kprobe_args_syntax", Result: "PASS"},
		{Test: "absent", Result: "UNSUPPORTED", assertions: []string{"absent:7"}},
	})
	want := "strict: 4 assertions: 2 held, 1 in tests that are not supported\n" +
		"  not come to, in a test that passed: new:2\n  not checked against the kernel: new:1\n" +
		"  not true of a kernel, so left as they are: kprobe/kprobe_args_syntax:67\n"
	if err != nil || out.String() != want {
		t.Errorf("%v, %q, want %q", err, out.String(), want)
	}
	if want := []string{"not come to, in a test that passed: new:2", "not checked against the kernel: new:1"}; !slices.Equal(bad, want) {
		t.Errorf("bad: %q, want %q", bad, want)
	}
}

// The end of ftracetest's output is a run that hung or broke off.
func TestFollow(t *testing.T) {
	cases := []*testCase{{Test: "a", Result: notRun}, {Test: "b", Result: notRun}, {Test: "c", Result: notRun}}
	s := &suite{cases: cases}
	out := "=== Ftrace unit tests ===\n[1] Basic [trace]\t[PASS]\nnoise\n[2] (instance)  more\t[UNSUPPORTED]\n"
	if err := s.follow(t.Context(), 1<<40, strings.NewReader(out), cases, func() {}, new(strings.Builder)); err != nil {
		t.Fatal(err)
	}
	if cases[0].Result != "PASS" || cases[1].Result != "UNSUPPORTED" || cases[2].Result != notRun {
		t.Errorf("results: %v %v %v", *cases[0], *cases[1], *cases[2])
	}
	if err := s.follow(t.Context(), 1<<40, strings.NewReader("[2] b\t[PASS]\n"), cases, func() {}, new(strings.Builder)); err == nil {
		t.Error("a result out of order was taken")
	}
}

func TestOracleKeys(t *testing.T) {
	o, err := readOracle("")
	if err != nil {
		t.Fatal(err)
	}
	o.debian[oracleKey(" twice", false)] = []string{"PASS", "FAIL"}
	first, second := &testCase{description: "twice"}, &testCase{description: "twice"}
	if a, _ := o.of(first); a != "PASS" {
		t.Errorf("first: %s", a)
	}
	if b, _ := o.of(second); b != "FAIL" {
		t.Errorf("second: %s", b)
	}
	if c, _ := o.of(&testCase{description: "twice", Instance: true}); c != "-" {
		t.Errorf("instance: %s", c)
	}
}
