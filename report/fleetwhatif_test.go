package report

import (
	"fmt"
	"math"
	"testing"

	"ftracelab/report/summary"
)

// What the WhatIf says of a buffer and a map is what the answer says that is made for
// that buffer and that map.
func TestFleetWhatIfIsTheAnswer(t *testing.T) {
	var all []*summary.Summary
	for n := range 12 {
		s, _ := summaryOf(t, kernelHeavy(300+40*n, 60+30*n, 2+3*n), fmt.Sprintf("web%02d", n))
		all = append(all, s)
	}
	none, _ := summaryOf(t, new(records), "idle")
	sum := merged(t, append(all, none)...)
	what := EstimateFleet(sum, FleetOptions{}).WhatIf
	if len(what.Sizes) != 10 || len(what.BuffersKB) != 16 {
		t.Fatalf("%d sizes, %d buffers", len(what.Sizes), len(what.BuffersKB))
	}
	some := false
	for i, kb := range what.BuffersKB {
		for _, size := range what.Sizes {
			f := EstimateFleet(sum, FleetOptions{BufferSizeKB: int(kb), Bits: size.Bits})
			row := "seconds back, full-stacks"
			if size.Bits > 0 {
				row = "seconds back, stackmap"
				if want := f.Sweep[size.Bits-10].Pays; size.Pays[i] != want {
					t.Errorf("%d KB, bits=%d: pays on %d machines, not %d", kb, size.Bits, size.Pays[i], want)
				}
				some = some || size.Pays[i] > 0 && size.Pays[i] < len(all)
			}
			for _, p := range f.Percentiles {
				got := size.SecondsPerKB
				if p.What == row && (got.Count != p.Count || math.Abs(round4(got.P50*float64(kb))-p.P50) > 1e-9 || math.Abs(round4(got.P90*float64(kb))-p.P90) > 1e-9) {
					t.Errorf("%d KB, bits=%d: %+v for each KB, want %+v", kb, size.Bits, got, p)
				}
			}
		}
	}
	if !some {
		t.Error("each map pays on all machines or on none: that tests little")
	}
}

// A summary without kernel stacks or without times has buffers, and no maps or no seconds.
func TestFleetWhatIfOfLittle(t *testing.T) {
	s, _ := summaryOf(t, new(records), "idle")
	if w := EstimateFleet(s, FleetOptions{}).WhatIf; len(w.Sizes) != 1 || w.Sizes[0].SecondsPerKB.Count != 0 {
		t.Errorf("%+v", w)
	}
}

// What was lost is among the caveats and among what is assumed; what no summary can tell
// is a caveat only.
func TestFleetAssumed(t *testing.T) {
	s, _ := summaryOf(t, kernelHeavy(400, 100, 20), "web1")
	f := EstimateFleet(s, FleetOptions{})
	if len(f.Assumed) != 0 || len(f.Caveats) != 3 {
		t.Errorf("%q, %q", f.Assumed, f.Caveats)
	}
	s.Machines[0].Lost, s.Machines[0].Losses = 7, 2
	f = EstimateFleet(s, FleetOptions{})
	if len(f.Assumed) != 1 || len(f.Caveats) != 4 || f.Caveats[3] != f.Assumed[0] {
		t.Errorf("%q, %q", f.Assumed, f.Caveats)
	}
}
