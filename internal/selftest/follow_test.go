//go:build unix

package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

// FuzzFollow reads any output as that of ftracetest: results are taken in order, and
// only so many as there are tests.
func FuzzFollow(f *testing.F) {
	f.Add("=== Ftrace unit tests ===\n[1] Basic trace file check\t[PASS]\n[2] (instance)  Basic test for tracers\t[UNRESOLVED]\n")
	f.Add("[2] x\t[PASS]\n")
	f.Add("[1] \t[A]\n[1] \t[A]\n[99999999999999999999] \t[A]\n" + strings.Repeat("x", 70_000))
	f.Fuzz(func(t *testing.T, text string) {
		cases := []*testCase{{}, {}}
		killed := false
		err := (&suite{}).follow(t.Context(), time.Minute, strings.NewReader(text), cases, func() { killed = true }, io.Discard)
		if (err != nil) != killed {
			t.Errorf("killed: %v, error: %v", killed, err)
		}
		if cases[1].Result != "" && cases[0].Result == "" {
			t.Error("the second result without the first")
		}
	})
}
