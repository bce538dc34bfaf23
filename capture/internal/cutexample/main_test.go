package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ftracelab/internal/testutil"
)

// Each example is what its capture gives, byte for byte, and a README.
func TestExampleIsCurrent(t *testing.T) {
	for _, e := range []struct {
		have, from string
		pages      int
	}{
		{"kmem_stack", "debian/stacks/kmem_stack", 250},
		{"sched_stack", "debian/stacks/sched_stack", 150},
		{"user_stack", "debian/stacks/user_stack", 150},
		{"function_stack", "full/function/fn_func_stack", 100},
	} {
		t.Run(e.have, func(t *testing.T) {
			isCurrent(t, filepath.Join("../../example", e.have), filepath.Join(testutil.Oracle(t), filepath.FromSlash(e.from)), e.pages)
		})
	}
}

func isCurrent(t *testing.T, have, from string, pages int) {
	made := t.TempDir()
	if err := cut(from, made, pages); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(have)
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadDir(made)
	if err != nil || len(again) != len(files)-1 {
		t.Errorf("%d files are made, %d are there: %v", len(again), len(files), err)
	}
	for _, f := range files {
		if f.Name() == "README" {
			continue
		}
		want, err := os.ReadFile(filepath.Join(made, f.Name()))
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(have, f.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: run go generate ./capture (%v)", f.Name(), err)
		}
	}
}
