package report

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// curve gives n points of a growth that f describes.
func curve(n int, step uint64, f func(stacks float64) float64) (points []GrowthPoint) {
	for i := range uint64(n) {
		s := (i + 1) * step
		points = append(points, GrowthPoint{Events: s, Stacks: s, Unique: uint64(math.Round(f(float64(s))))})
	}
	return points
}

// TestLawIsFound: a growth that follows a law is recognized, and continued as the law goes
// on; the inverse of a law is its inverse.
func TestLawIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := law{heaps, rapid.Float64Range(5, 200).Draw(rt, "scale"), rapid.Float64Range(0.3, 0.9).Draw(rt, "shape")}
		if rapid.Bool().Draw(rt, "saturating") {
			want = law{saturating, rapid.Float64Range(200, 9000).Draw(rt, "scale"), rapid.Float64Range(500, 20000).Draw(rt, "shape")}
		}
		points := curve(60, 1000, want.unique)
		got, why := fitLaw(points)
		if why != "" || got.name != want.name || got.err > 0.05 {
			rt.Fatalf("%v: got %v, %.3f off, %s", want, got.law, got.err, why)
		}
		for _, n := range []float64{60_000, 120_000, 600_000} {
			if u, w := got.unique(n), want.unique(n); math.Abs(u/w-1) > 0.05 {
				rt.Errorf("%v: %g stacks: %g unique, want %g", want, n, u, w)
			}
			if back := want.stacks(want.unique(n)); math.Abs(back/n-1) > 1e-6 {
				rt.Errorf("%v: the inverse of %g is %g", want, n, back)
			}
		}
	})
	if n := (law{saturating, 100, 5}).stacks(100); !math.IsInf(n, 1) {
		t.Errorf("a saturated law reaches its limit after %g stacks", n)
	}
}

// TestNoLaw: what is too short, and what begins anew in the second half, has no law.
func TestNoLaw(t *testing.T) {
	flat := func(float64) float64 { return 40 }
	phases := func(n float64) float64 {
		if n < 40_000 {
			return 40
		}
		return n / 40
	}
	for name, c := range map[string]struct {
		points []GrowthPoint
		why    string
	}{
		"few stacks": {curve(60, 10, flat), "too short"},
		"few points": {curve(9, 1000, flat), "too short"},
		"two phases": {curve(60, 1000, phases), "no law is within 25 %"},
		"none":       {nil, "too short"},
	} {
		if _, why := fitLaw(c.points); !strings.Contains(why, c.why) {
			t.Errorf("%s: %q", name, why)
		}
	}
	if f, why := fitLaw(curve(60, 1000, flat)); why != "" || math.Round(f.unique(1e6)) != 40 {
		t.Errorf("a flat growth: %v, %s", f, why)
	}
	if f, why := fitLaw(curve(60, 1000, func(n float64) float64 { return n })); why != "" || math.Abs(f.unique(120_000)-120_000) > 1 {
		t.Errorf("each stack is new: %v, %s", f, why)
	}
}

// TestFastest: the first tenth does not count, and no growth is slower than one stack in a
// tenth.
func TestFastest(t *testing.T) {
	burst := func(n float64) float64 { return 500 + min(max(0, n-30_000), 6000)/100 }
	if got := fastest(curve(60, 1000, burst)); math.Abs(got-0.01) > 1e-9 {
		t.Errorf("60 in 6000 stacks: %g", got)
	}
	if got := fastest(curve(60, 1000, func(float64) float64 { return 7 })); math.Abs(got-1./6000) > 1e-9 {
		t.Errorf("none in 6000 stacks: %g", got)
	}
}
