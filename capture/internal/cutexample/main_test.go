package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ftracelab/internal/testutil"
)

// The example is what the capture gives, byte for byte, and a README.
func TestExampleIsCurrent(t *testing.T) {
	const have = "../../example/kmem_stack"
	from := filepath.Join(testutil.Oracle(t), "debian", "stacks", "kmem_stack")
	made := t.TempDir()
	if err := cut(from, made, 250); err != nil {
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
