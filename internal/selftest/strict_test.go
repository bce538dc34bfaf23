//go:build unix

package main

import (
	"strings"
	"testing"
)

// A negation becomes an assertion, and nothing else changes: what acts on the
// result itself keeps its meaning.
func TestMakeStrict(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"! grep -q x trace", "if grep -q x trace; then echo 'STRICT: line 1 succeeded'; exit 1; fi"},
		{"\t! cat a | grep b", "\tif cat a | grep b; then echo 'STRICT: line 1 succeeded'; exit 1; fi"},
		{"! grep -q x trace || do_reset", "! grep -q x trace || do_reset"},
		{"if ! grep -q x trace; then", "if ! grep -q x trace; then"},
		{"if !grep x; then", "if !grep x; then"},
		{"#! a comment", "#! a comment"},
		{"!grep x", "!grep x"},
	} {
		if got := string(makeStrict("t", []byte(c.line+"\n"))); got != c.want+"\n" {
			t.Errorf("%q becomes %q, want %q", c.line, got, c.want)
		}
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
