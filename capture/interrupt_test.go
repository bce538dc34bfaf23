package capture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ftracelab/tracer/record"
)

// TestContext: after the end of Options.Context no file is read or opened any more, not
// even with KeepGoing.
func TestContext(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, Example()); err != nil {
		t.Fatal(err)
	}
	// A terabyte of pages without a record. They take no room on the disk.
	if err := os.Remove(filepath.Join(dir, "cpu0.raw.gz")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cpu0.raw"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "cpu0.raw"), 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, keepGoing := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		opt := Options{Context: ctx, KeepGoing: keepGoing}
		c, err := Open(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan error)
		go func() {
			var r record.Record
			result <- c.Next(&r)
		}()
		select {
		case err := <-result:
			t.Fatalf("a terabyte was read: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("keep going %v: %v", keepGoing, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := Open(dir, opt); !errors.Is(err, context.Canceled) {
			t.Errorf("keep going %v: opened: %v", keepGoing, err)
		}
		if _, err := OpenDat(filepath.Join(dir, "cpu0.raw"), opt); !errors.Is(err, context.Canceled) {
			t.Errorf("keep going %v: opened: %v", keepGoing, err)
		}
	}
}
