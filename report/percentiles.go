package report

import (
	"cmp"
	"math"
	"slices"

	"ftracelab/report/summary"
)

// Percentiles are how one figure is spread.
type Percentiles struct {
	Basis Basis   `json:"basis"`
	What  string  `json:"what"`
	Over  string  `json:"over"` // of what each has such a figure: machines, events or kernel stacks
	Count uint64  `json:"count"`
	Least float64 `json:"least"`
	P10   float64 `json:"p10"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Most  float64 `json:"most"`
}

// figure is something that every machine has, if has reports so.
type figure struct {
	what  string
	basis Basis
	odd   bool // a machine that is far from the others in this figure is an outlier
	has   func(*summary.Machine) bool
	of    func(*summary.Machine) float64
}

// figures are the rows of the percentiles over machines.
func (f *fleet) figures() []figure {
	some := func(m *summary.Machine) bool { return m.Events > 0 }
	timed := func(m *summary.Machine) bool { return m.Events > 0 && m.Micros > 0 }
	stacks := func(m *summary.Machine) bool { return m.KernelStacks > 0 && f.bits > 0 }
	both := func(m *summary.Machine) bool { return stacks(m) && timed(m) }
	perEvent := func(m *summary.Machine, bytes uint64) float64 { return ratio(bytes, m.Events) }
	return []figure{
		{"events per second", Measured, true, timed, func(m *summary.Machine) float64 { return perSecond(m.Events, m.Micros) }},
		{"different kernel stacks", Measured, true, stacks, func(m *summary.Machine) float64 { return float64(m.UniqueStacks) }},
		{"B/event, full-stacks", Replayed, true, some, func(m *summary.Machine) float64 { return perEvent(m, full(m)) }},
		{"B/event, stackmap", Replayed, false, stacks, func(m *summary.Machine) float64 { return perEvent(m, with(m, f.bits)) }},
		{"saving in %", Replayed, true, stacks, func(m *summary.Machine) float64 { return savingPct(full(m), with(m, f.bits)) }},
		{"stacks without room", Replayed, true, stacks, func(m *summary.Machine) float64 { return float64(m.Of(f.bits).Drops) }},
		{"seconds back, full-stacks", Extrapolated, false, timed, func(m *summary.Machine) float64 { return f.seconds(m, full(m)) }},
		{"seconds back, stackmap", Extrapolated, false, both, func(m *summary.Machine) float64 { return f.seconds(m, with(m, f.bits)) }},
	}
}

// sample is a figure of one machine, or of count events or stacks.
type sample struct {
	value float64
	count uint64
	name  string
}

// samples gives the figures of all machines that have one, in ascending order.
func (f *fleet) samples(fig figure) []sample {
	var all []sample
	for n := range f.Machines {
		if m := &f.Machines[n]; fig.has(m) {
			all = append(all, sample{round4(fig.of(m)), 1, m.Name})
		}
	}
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	return all
}

func (f *fleet) percentiles() []Percentiles {
	ps := []Percentiles{}
	for _, fig := range f.figures() {
		if all := f.samples(fig); len(all) > 0 {
			ps = append(ps, spread(fig.basis, fig.what, "machines", all))
		}
	}
	var sizes, depths []sample
	for _, s := range f.Sizes {
		sizes = append(sizes, sample{value: float64(s.Bytes), count: s.Events})
	}
	if len(sizes) > 0 {
		ps = append(ps, spread(Replayed, "bytes of a record", "events", sizes))
	}
	byDepth := make(map[uint64]uint64)
	for _, s := range f.Stacks {
		byDepth[s.Depth] += s.Count
	}
	for depth, count := range byDepth {
		depths = append(depths, sample{value: float64(depth), count: count})
	}
	slices.SortFunc(depths, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	if len(depths) > 0 {
		ps = append(ps, spread(Measured, "depth", "kernel stacks", depths))
	}
	return ps
}

// spread gives the percentiles of samples in ascending order: the value that so many
// of them do not exceed.
func spread(basis Basis, what, over string, all []sample) Percentiles {
	p := Percentiles{Basis: basis, What: what, Over: over, Least: all[0].value, Most: all[len(all)-1].value}
	for _, s := range all {
		p.Count += s.count
	}
	at := func(percent float64) float64 {
		want, seen := float64(p.Count)*percent/100, uint64(0)
		for _, s := range all {
			if seen += s.count; float64(seen) >= want {
				return s.value
			}
		}
		return p.Most
	}
	p.P10, p.P50, p.P90, p.P99 = at(10), at(50), at(90), at(99)
	return p
}

// rank is the index, in an ascending list of n, of the value that percent of them do
// not exceed.
func rank(percent, n int) int { return max(0, (n*percent+99)/100-1) }

// Outlier is a machine that is far from the others in one figure.
type Outlier struct {
	Machine string  `json:"machine"`
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Median  float64 `json:"median"` // of all machines
}

const (
	fewMachines  = 8  // with fewer, none is an outlier
	mostOutliers = 20 // that are named
	farOut       = 3  // how many times the middle half's width from that half
	farFrom      = 10 // the least difference from the median, in percent of it
)

// outliers names the machines whose figures lie beyond the outer fences of Tukey's box
// plot and differ from the median by a tenth of it or more. The farthest come first.
func (f *fleet) outliers() (named []Outlier, found int) {
	named = []Outlier{}
	for _, fig := range f.figures() {
		all := f.samples(fig)
		if !fig.odd || len(all) < fewMachines {
			continue
		}
		low, median, high := all[rank(25, len(all))].value, all[rank(50, len(all))].value, all[rank(75, len(all))].value
		reach := farOut * (high - low)
		for _, s := range all {
			if (s.value < low-reach || s.value > high+reach) && 100*math.Abs(s.value-median) >= farFrom*math.Abs(median) {
				named = append(named, Outlier{s.name, fig.what, s.value, median})
			}
		}
	}
	slices.SortStableFunc(named, func(a, b Outlier) int { return cmp.Compare(b.times(), a.times()) })
	found = len(named)
	return named[:min(found, mostOutliers)], found
}

// times is how many times the median the value is, or the value the median.
func (o *Outlier) times() float64 {
	small, large := min(o.Value, o.Median), max(o.Value, o.Median)
	if small <= 0 {
		return math.MaxFloat64
	}
	return large / small
}
