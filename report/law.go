package report

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// law is a formula for how many different stacks there are among the first n stacks.
//
//	heaps       scale * n^shape: new stacks become rarer but never end (Heaps' law)
//	saturating  scale * n / (n + shape): there are scale different stacks in all
type law struct {
	name         string
	scale, shape float64
}

const (
	heaps      = "heaps"
	saturating = "saturating"
)

// unique is the number of different stacks among n.
func (l law) unique(n float64) float64 {
	if l.name == heaps {
		return l.scale * math.Pow(n, l.shape)
	}
	return l.scale * n / (n + l.shape)
}

// stacks is the number of stacks of which u are different: the inverse of unique. It is
// infinite if there are never so many.
func (l law) stacks(u float64) float64 {
	if l.name == heaps {
		if l.shape <= 0 {
			return math.Inf(1)
		}
		return math.Pow(u/l.scale, 1/l.shape)
	}
	if u >= l.scale {
		return math.Inf(1)
	}
	return l.shape * u / (l.scale - u)
}

func (l law) String() string {
	if l.name == heaps {
		return fmt.Sprintf("%.4g * n^%.3g", l.scale, l.shape)
	}
	return fmt.Sprintf("%.4g * n / (n + %.4g)", l.scale, l.shape)
}

// fitHeaps fits Heaps' law by least squares to the logarithms of the points, where the
// law is a straight line.
func fitHeaps(points []GrowthPoint) (law, bool) {
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = math.Log(float64(p.Stacks)), math.Log(float64(p.Unique))
	}
	scale, shape := stat.LinearRegression(x, y, nil, false)
	l := law{heaps, math.Exp(scale), max(0, shape)}
	return l, shape > -1e-9 && !math.IsInf(l.scale, 0)
}

// fitSaturating fits the saturating law by least squares to stacks per different stack,
// which the law makes a straight line.
func fitSaturating(points []GrowthPoint) (law, bool) {
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = float64(p.Stacks), float64(p.Stacks)/float64(p.Unique)
	}
	first, slope := stat.LinearRegression(x, y, nil, false)
	// Where each stack is new, the line is flat.
	if slope < 1e-9 || first < -1e-6 {
		return law{}, false
	}
	return law{saturating, 1 / slope, max(0, first) / slope}, true
}

// A law is fitted to curves of at least so many stacks and points. It is believed if, when
// it is fitted to the first half of the curve, it is never off by more than that share
// in the second.
const (
	lawStacks = 1000
	lawPoints = 16
	lawError  = 0.25
)

// fitted is a law that continues a curve from its last point on.
type fitted struct {
	law
	n, u float64 // the last point
	err  float64 // how far off it was, at most, on the half of the curve that was held out; a share
}

// unique is the number of different stacks among n, for n beyond the last point.
func (f fitted) unique(n float64) float64 { return f.u + f.law.unique(n) - f.law.unique(f.n) }

// stacks is the inverse of unique.
func (f fitted) stacks(u float64) float64 { return f.law.stacks(u - f.u + f.law.unique(f.n)) }

// fitLaw chooses the law that, fitted to the first half of the curve, is less far off in
// the second, and fits it to all of it. If there is no law to believe, why says so.
func fitLaw(points []GrowthPoint) (f fitted, why string) {
	if len(points) < lawPoints || points[len(points)-1].Stacks < lawStacks {
		return f, fmt.Sprintf("too short for a law of growth: that takes %s stacks", Group(lawStacks))
	}
	last := points[len(points)-1]
	half := 0
	for half < len(points) && 2*points[half].Stacks <= last.Stacks {
		half++
	}
	f.err = math.Inf(1)
	for _, fit := range []func([]GrowthPoint) (law, bool){fitSaturating, fitHeaps} {
		early, ok := fit(points[:half])
		if !ok {
			continue
		}
		err := continued(early, points[half-1]).miss(points[half:])
		if whole, ok := fit(points); ok && err < f.err {
			f, f.err = continued(whole, last), err
		}
	}
	if f.err > lawError {
		return f, fmt.Sprintf("no law is within %.0f %% on the second half of the growth if it is fitted to the first", 100*lawError)
	}
	return f, ""
}

// Unique is how many of n stacks are different, by the law. The factor of a Plan is not in
// it.
func (g *Growth) Unique(n float64) float64 { return law{g.Law, g.Scale, g.Shape}.unique(n) }

func continued(l law, p GrowthPoint) fitted {
	return fitted{law: l, n: float64(p.Stacks), u: float64(p.Unique)}
}

// miss is how far off the law is at most, as a share of what was seen.
func (f fitted) miss(points []GrowthPoint) (worst float64) {
	for _, p := range points {
		worst = max(worst, math.Abs(f.unique(float64(p.Stacks))/float64(p.Unique)-1))
	}
	return worst
}

// fastest is the most different stacks per stack that came in any tenth of the curve after
// the first tenth, in which every curve is steep. A tenth counts as having brought at
// least one.
func fastest(points []GrowthPoint) float64 {
	step := max(1, len(points)/10)
	var rate float64
	for i := step - 1; i+step < len(points); i++ {
		from, to := points[i], points[i+step]
		rate = max(rate, float64(max(1, to.Unique-from.Unique))/float64(to.Stacks-from.Stacks))
	}
	return min(1, rate)
}
