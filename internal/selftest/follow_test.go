//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
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

// The suite runs by its other name, and keeps its own, for which one of its tests looks.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	s := &suite{dir: dir, entry: filepath.Join(dir, runner)}
	if err := os.WriteFile(s.entry, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.rename(runner); err != nil || filepath.Base(s.entry) != runner {
		t.Errorf("%s, %v", s.entry, err)
	}
	if err := s.rename("other"); err != nil || s.entry != filepath.Join(dir, "other") {
		t.Errorf("%s, %v", s.entry, err)
	}
	for _, name := range []string{runner, "other"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"other", "a/b", ""} {
		if err := s.rename(bad); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}
