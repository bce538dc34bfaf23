package savings

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"ftracelab/capture"
	"ftracelab/tracer/record"
)

// counted counts the records of a capture.
type counted struct {
	*capture.Capture
	n *int
}

func (c counted) Next(r *record.Record) error {
	err := c.Capture.Next(r)
	if err == nil {
		*c.n++
	}
	return err
}

// TestOf makes the estimate of the embedded capture, and watches how it is read.
func TestOf(t *testing.T) {
	n := 0
	watched := 0
	r, skipped, err := Of(t.Context(), capture.OpenExample, true, Options{Watch: func(c *capture.Capture, read *atomic.Int64) record.Source {
		if read != nil {
			watched++
		}
		return counted{c, &n}
	}})
	if err != nil || skipped != nil {
		t.Fatal(err, skipped)
	}
	if watched != 1 || uint64(n) < r.Input.Events || r.Input.Events == 0 {
		t.Errorf("%d records were seen in %d readings, and the report has %d events", n, watched, r.Input.Events)
	}
	if r.Input.Path == "" || len(r.Designs) < 3 {
		t.Errorf("input %q, %d designs", r.Input.Path, len(r.Designs))
	}
}

// TestOfFails: an error of the capture, and the end of the context, are the error.
func TestOfFails(t *testing.T) {
	gone := errors.New("gone")
	if _, _, err := Of(t.Context(), func(capture.Options) (*capture.Capture, error) { return nil, gone }, true, Options{}); !errors.Is(err, gone) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Of(ctx, capture.OpenExample, true, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("neither pages nor text\x00\xff"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Of(t.Context(), func(o capture.Options) (*capture.Capture, error) { return capture.Open(name, o) }, true, Options{}); err == nil {
		t.Error("noise has an estimate")
	}
}
