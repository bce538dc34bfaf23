package report

import (
	"math"
	"testing"
)

// TestAt compares what a buffer of some size holds with what the same buffer is said to
// hold when the question is how far to look back.
func TestAt(t *testing.T) {
	for _, seconds := range []float64{0.01, 1, 60} {
		r := mustEstimate(t, even(6000, 50), Options{Plan: Plan{TargetSeconds: seconds}})
		if len(r.Capacity.LookBack) != len(r.Designs) {
			t.Fatalf("%d of %d designs look back %g s", len(r.Capacity.LookBack), len(r.Designs), seconds)
		}
		for _, want := range r.Capacity.LookBack {
			n := 0
			for i := range r.Capacity.Sizes {
				s := &r.Capacity.Sizes[i]
				if s.Design != want.Design || s.Bits != want.Bits {
					continue
				}
				n++
				got := r.At(s, want.BufferKB)
				if d := math.Abs(float64(got.Seconds)/float64(want.Seconds) - 1); d > 1e-4 {
					t.Errorf("%s looks back %v s, want %v", s.Design, got.Seconds, want.Seconds)
				}
				got.Seconds, got.OthersSeconds = want.Seconds, want.OthersSeconds
				if got != want {
					t.Errorf("with %d KB: %+v, want %+v", want.BufferKB, got, want)
				}
			}
			if n != 1 {
				t.Errorf("%d sizes are %s at bits=%d", n, want.Design, want.Bits)
			}
		}
	}
}
