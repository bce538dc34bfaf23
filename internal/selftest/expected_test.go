//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// canned is a suite and what ftracetest prints of it.
func canned(t *testing.T, results ...string) *suite {
	t.Helper()
	s := &suite{cases: []*testCase{
		{Test: "basic", Result: notRun},
		{Test: "net/ping", Result: notRun},
		{Test: "basic", Instance: true, Result: notRun},
	}}
	var out strings.Builder
	for n, r := range results {
		fmt.Fprintf(&out, "[%d] a description\t[%s]\n", n+1, r)
	}
	if err := s.follow(t.Context(), 1<<40, strings.NewReader(out.String()), s.cases, func() {}, new(strings.Builder)); err != nil {
		t.Fatal(err)
	}
	return s
}

func expected(t *testing.T, text string) map[testRun]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "expected.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := readExpected(file)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const cannedTable = "# results\n\nPASS  basic\nXFAIL net/ping\nPASS  basic instance\nPASS added/mine\n"

// Whatever is not in the table as it happened is told, in both directions.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		results, table string
		want           []string
	}{
		{"PASS XFAIL PASS", cannedTable, nil},
		{"PASS UNRESOLVED PASS", cannedTable, []string{"net/ping: UNRESOLVED, expected XFAIL"}},
		{"PASS XFAIL UNSUPPORTED", cannedTable, []string{"basic (instance): UNSUPPORTED, expected PASS"}},
		{"PASS PASS PASS", cannedTable, []string{"net/ping: PASS, expected XFAIL"}},
		{"PASS XFAIL", cannedTable, []string{"basic (instance): NOT RUN, expected PASS"}},
		{"PASS XFAIL PASS", strings.Replace(cannedTable, "PASS  basic\n", "", 1), []string{"basic: PASS, the table does not have it"}},
		{"PASS XFAIL PASS", cannedTable + "PASS gone\n", []string{"gone: expected PASS, the suite does not have it"}},
	} {
		s := canned(t, strings.Fields(c.results)...)
		if got := s.compare(s.cases, expected(t, c.table)); !slices.Equal(got, c.want) {
			t.Errorf("%s with %q: %q, want %q", c.results, c.table, got, c.want)
		}
	}
}

// A test that was not asked for is not missed.
func TestCompareChosen(t *testing.T) {
	s := canned(t, "PASS")
	if got := s.compare(s.cases[:1], expected(t, cannedTable)); got != nil {
		t.Errorf("%q", got)
	}
}

func TestExpectedErrors(t *testing.T) {
	for text, want := range map[string]string{
		"PASS":              "1: want a result, a test",
		"\nPASS a b":        "2: want a result, a test",
		"PASS a\nXFAIL a\n": "2: a is there twice",
	} {
		file := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readExpected(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The table that is built in has each test of the suite, and a change of any of its
// lines is noticed.
func TestExpectedHasTheSuite(t *testing.T) {
	table, err := readExpected("")
	if err != nil {
		t.Fatal(err)
	}
	dir := testutil.FromEnv(t, "FTRACELAB_SELFTESTS", "tools/testing/selftests/ftrace of Linux 6.12")
	s, err := copySuite(dir, "", filepath.Join(t.TempDir(), "suite"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.cases {
		c.Result = table[testRun{c.Test, c.Instance}]
	}
	if got := s.compare(s.cases, table); got != nil {
		t.Errorf("%q", got)
	}
	for _, c := range s.cases {
		r := testRun{c.Test, c.Instance}
		was := table[r]
		table[r] = "UNSUPPORTED"
		if got := s.compare(s.cases, table); len(got) != 1 {
			t.Errorf("%s: a changed line gives %q", r, got)
		}
		table[r] = was
	}
}
