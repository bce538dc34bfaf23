package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ftracelab/report/summary"
	"ftracelab/tracer/record"

	"pgregory.net/rapid"
)

// summaryOf makes the summary of a source and its report.
func summaryOf(t *testing.T, src *records, name string) (*summary.Summary, *Report) {
	t.Helper()
	s := new(summary.Summary)
	r := mustEstimate(t, src, Options{Summary: s, Path: name})
	read, err := summary.Decode(bytes.NewReader(encodedSummary(t, s)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read, r
}

// merged adds summaries.
func merged(t *testing.T, all ...*summary.Summary) *summary.Summary {
	t.Helper()
	m := summary.NewMerger(nil)
	for _, s := range all {
		if err := m.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	return m.Sum()
}

// A summary gives the same bytes as the capture it was made of: for full stacks, for a
// map of each size and for no stacks, apart from the time extends of the last, whose
// pages begin elsewhere.
func TestSummaryAnswersAsCapture(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		src := randomTrace(rt, 3)
		s, r := summaryOf(t, src, "web1")
		f := EstimateFleet(s, FleetOptions{})
		if f.Input.Events != r.Input.Events || f.Input.KernelStacks != r.Input.KernelStacks ||
			f.Input.UniqueStacks != r.Input.UniqueKernelStacks || f.Input.UserStacks != r.Input.UserStacks {
			t.Errorf("%+v, but the capture has %+v", f.Input, r.Input)
		}
		full, none := r.Designs[0], designNamed(t, r, "no-stacks")
		if f.Designs[0].BytesPerEvent != full.BytesPerEvent {
			t.Errorf("full stacks: %v, not %v", f.Designs[0].BytesPerEvent, full.BytesPerEvent)
		}
		b := &none.Breakdown
		last := f.Designs[len(f.Designs)-1]
		if got, want := last.Bytes-full.Breakdown.TimeExtends, b.EventHeaders+b.CommonFields+b.Payload+b.Padding; got != want {
			t.Errorf("no stacks: %v, not %v", got, want)
		}
		if len(f.Sweep) != len(r.Sweep) {
			t.Fatalf("%d sizes, not %d", len(f.Sweep), len(r.Sweep))
		}
		for n, p := range r.Sweep {
			if b := f.Sweep[n]; b.Bits != p.Bits || b.BytesPerEvent != p.BytesPerEvent || b.SavingPct != p.SavingPct || b.Drops != p.Drops || b.MapBytes != p.MapBytes {
				t.Errorf("%+v, but the capture has %+v", b, p)
			}
		}
		var bytes uint64
		for _, size := range s.Sizes {
			bytes += size.Bytes * size.Events
		}
		if want := s.Machines[0].EventBytes - full.Breakdown.TimeExtends; full.TooBig == 0 && bytes != want {
			t.Errorf("the sizes of records give %d bytes, not %d", bytes, want)
		}
	})
}

// A map that is too small drops as many stacks in the summary as in the capture.
func TestSummaryOfFullMap(t *testing.T) {
	s, r := summaryOf(t, kernelHeavy(4000, 3000, 20), "web1")
	if r.Sweep[0].Drops == 0 {
		t.Fatal("the map is large enough")
	}
	f := EstimateFleet(s, FleetOptions{Bits: 10})
	if got := f.Designs[1]; got.Drops != r.Sweep[0].Drops || got.BytesPerEvent != r.Sweep[0].BytesPerEvent {
		t.Errorf("%+v, but the capture has %+v", got, r.Sweep[0])
	}
}

// The designs that are compared make no difference to the summary, as long as no pause is
// so long that it needs a time extend.
func TestSummaryOfAnyDesigns(t *testing.T) {
	s, _ := summaryOf(t, kernelHeavy(2000, 300, 20), "web1")
	designs, err := record.ParseDesigns("no-stacks,stackmap:bits=10,probes=1", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	other := new(summary.Summary)
	mustEstimate(t, kernelHeavy(2000, 300, 20), Options{
		Summary: other, Path: "/srv/traces/web1", Designs: designs,
	})
	if a, b := encodedSummary(t, s), encodedSummary(t, other); !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes", len(a), len(b))
	}
}

// The bits suit the machines: ninety-nine small ones and one with many stacks.
func TestFleetBitsAndOutliers(t *testing.T) {
	var all []*summary.Summary
	for n := range 99 {
		s, _ := summaryOf(t, kernelHeavy(400, 100+n%5, 20), fmt.Sprintf("web%02d", n))
		all = append(all, s)
	}
	s, r := summaryOf(t, kernelHeavy(8000, 3000, 20), "odd")
	all = append(all, s)
	f := EstimateFleet(merged(t, all...), FleetOptions{})
	if want := []FleetSuit{{50, 10}, {90, 10}, {99, 10}}; !slices.Equal(f.Suits, want) {
		t.Errorf("%v, want %v", f.Suits, want)
	}
	for _, b := range f.Sweep {
		want := 99.0
		if b.Bits >= r.Recommendation.Bits {
			want = 100
		}
		if b.SuitsPct != want {
			t.Errorf("bits=%d suits %v %%, want %v", b.Bits, b.SuitsPct, want)
		}
	}
	if f.Sweep[0].Dropping != 1 || f.Sweep[0].Drops != r.Sweep[0].Drops {
		t.Errorf("%+v", f.Sweep[0])
	}
	found := false
	for _, o := range f.Outliers {
		if o.Machine != "odd" {
			t.Errorf("%+v is no outlier", o)
		}
		found = found || o.What == "different kernel stacks" && o.Value == 3000
	}
	if !found {
		t.Errorf("the machine unlike the others is not named: %+v", f.Outliers)
	}
	var text bytes.Buffer
	if err := (&Document{Fleets: []*Fleet{f}}).WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"on 100 machines", "enough for 99.0 %", "Machines unlike the others", "odd", "a summary holds no records"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("the text has no %q:\n%s", want, text.String())
		}
	}
}

// Whatever figures a summary holds, its answer can be printed.
func TestFleetOfAnything(t *testing.T) {
	count := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, summary.MaxCount))
	rapid.Check(t, func(rt *rapid.T) {
		s := &summary.Summary{Level: uint(rapid.IntRange(0, 64).Draw(rt, "level"))}
		for range rapid.IntRange(0, 12).Draw(rt, "machines") {
			m := summary.Machine{
				Name: "web", Events: count.Draw(rt, "events"), CPUs: 1, BusiestEvents: count.Draw(rt, "busiest"), Micros: count.Draw(rt, "micros"),
				KernelStacks: count.Draw(rt, "stacks"), UniqueStacks: count.Draw(rt, "unique"), EventBytes: count.Draw(rt, "bytes"),
				KernelBytes: count.Draw(rt, "stack bytes"), UserBytes: count.Draw(rt, "user bytes"), Bits: rapid.SampledFrom([]uint64{0, 10, 18}).Draw(rt, "bits"),
			}
			for n := range m.Maps {
				m.Maps[n] = summary.Map{Bytes: count.Draw(rt, "mapped"), Drops: count.Draw(rt, "drops")}
			}
			s.Machines = append(s.Machines, m)
			s.Sizes = append(s.Sizes, summary.Size{Bytes: uint64(4 * len(s.Machines)), Events: m.Events})
			s.Stacks = append(s.Stacks, summary.Stack{Depth: m.Micros, Count: m.KernelStacks})
		}
		d := Document{Fleets: []*Fleet{EstimateFleet(s, FleetOptions{Bits: rapid.SampledFrom([]int{0, 10, 18}).Draw(rt, "asked")})}}
		if err := d.WriteText(&bytes.Buffer{}, TextOptions{}); err != nil {
			rt.Error(err)
		}
		if err := d.WriteJSON(&bytes.Buffer{}); err != nil {
			rt.Error(err)
		}
	})
}

// A million machines have an answer.
func TestMillionMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 400 MB")
	}
	row, _ := summaryOf(t, kernelHeavy(400, 100, 20), "web")
	s := &summary.Summary{CPUs: row.CPUs, Stacks: row.Stacks}
	for range 1_000_000 {
		s.Machines = append(s.Machines, row.Machines[0])
	}
	f := EstimateFleet(s, FleetOptions{})
	if f.Input.Machines != 1_000_000 || f.Input.Events != 400_000_000 || f.Suits[2].Bits != 10 {
		t.Errorf("%+v", f.Input)
	}
}

// What has no events, no stacks or no times has an answer that says so.
func TestFleetOfLittle(t *testing.T) {
	for want, s := range map[string]*summary.Summary{
		"captures without events": {},
		"no kernel stacks":        {Machines: []summary.Machine{{Events: 3, EventBytes: 90}}},
		"maps that were not read": {Machines: []summary.Machine{{Events: 3, EventBytes: 90, StackIDs: 3}}},
	} {
		f := EstimateFleet(s, FleetOptions{})
		if !strings.Contains(f.Answer.Sentence, want) {
			t.Errorf("%q, want %q", f.Answer.Sentence, want)
		}
		if err := (&Document{Fleets: []*Fleet{f}}).WriteText(&bytes.Buffer{}, TextOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestSpread(t *testing.T) {
	var all []sample
	for n := range 100 {
		all = append(all, sample{value: float64(n + 1), count: 1})
	}
	got := spread(Measured, "x", "machines", all)
	want := Percentiles{Basis: Measured, What: "x", Over: "machines", Count: 100, Least: 1, P10: 10, P50: 50, P90: 90, P99: 99, Most: 100}
	if got != want {
		t.Errorf("%+v", got)
	}
	weighed := spread(Measured, "x", "events", []sample{{value: 3, count: 98}, {value: 9, count: 2}})
	if weighed.P90 != 3 || weighed.P99 != 9 {
		t.Errorf("%+v", weighed)
	}
	for _, n := range []int{1, 7, 100} {
		for _, percent := range []int{25, 50, 99} {
			if at := rank(percent, n); at < 0 || at >= n {
				t.Errorf("%d %% of %d is at %d", percent, n, at)
			}
		}
	}
}

// The name of a machine is the end of its path.
func TestMachineName(t *testing.T) {
	for name, want := range map[string]string{
		"traces/web1.example.com": "web1.example.com", "cap/": "cap", "": ".", "a\xffb": "a?b",
		strings.Repeat("é", 40): strings.Repeat("é", 24),
	} {
		if got := machineName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func encodedSummary(t *testing.T, s *summary.Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := summary.Encode(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
