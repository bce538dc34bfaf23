package output_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"ftracelab/capture"
	"ftracelab/internal/golden"
)

// TestSelection compares the captures in testdata, in all forms that are there,
// with what their kernels printed. The whole oracle is compared by the command
// report, which see.
func TestSelection(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/state.txt")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no captures in testdata (%v)", err)
	}
	for _, state := range dirs {
		dir := filepath.Dir(state)
		texts, unknown, err := golden.Texts(dir)
		if err != nil || len(unknown) > 0 || len(texts) == 0 {
			t.Fatalf("%s: %v, %d texts, unknown forms %v", dir, err, len(texts), unknown)
		}
		for _, text := range texts {
			c, err := capture.OpenTrace(text.Folder(t, dir), capture.Options{Kernel: dir, StackIDs: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range text.Options {
				if err := c.SetOption(word); err != nil {
					t.Fatal(err)
				}
			}
			var got bytes.Buffer
			if err := c.WriteText(context.Background(), &got, text.CPU); err != nil {
				t.Fatal(err)
			}
			if diff := text.Difference(got.Bytes()); diff != "" {
				t.Errorf("%s: %s", text.File, diff)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
