package html

import (
	"encoding/json"
	"math"
	"testing"

	"ftracelab/report"
)

// series gives the series of a chart by their names.
func series(t *testing.T, c chart) map[string][]json.RawMessage {
	t.Helper()
	var option struct {
		Series []struct {
			Name string `json:"name"`
			Data []struct {
				Value json.RawMessage `json:"value"`
			} `json:"data"`
		} `json:"series"`
	}
	if err := json.Unmarshal([]byte(c.option), &option); err != nil {
		t.Fatal(err)
	}
	all := map[string][]json.RawMessage{}
	for _, s := range option.Series {
		for _, d := range s.Data {
			all[s.Name] = append(all[s.Name], d.Value)
		}
	}
	return all
}

func decode[T any](t *testing.T, text json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRetainedChart: the bars are as long as the buffers reach back, and what is drawn as
// that of the trace is not longer than the trace.
func TestRetainedChart(t *testing.T) {
	r := estimate(t, true, report.Options{BufferSizeKB: 128})
	s := series(t, retainedChart("x", r))
	beyond := 0
	for i := range r.Designs {
		d, at := &r.Designs[i], len(r.Designs)-1-i
		seen, more := decode[float64](t, s["seconds of the trace"][at]), decode[float64](t, s["extrapolated"][at])
		if math.Abs(seen+more-float64(d.RetainedSeconds)) > 1e-9 || seen > float64(r.Input.Seconds) {
			t.Errorf("%s: %g and %g s, want %v of a trace of %v", d.Name, seen, more, d.RetainedSeconds, r.Input.Seconds)
		}
		if more > 0 {
			beyond++
			if math.Abs(seen-float64(r.Input.Seconds)) > 1e-9 {
				t.Errorf("%s: %g s of a trace of %v are drawn as seen", d.Name, seen, r.Input.Seconds)
			}
		}
		if more > 0 != (d.RetainedBasis == report.Extrapolated) {
			t.Errorf("%s: %g s are extrapolated, its basis is %s", d.Name, more, d.RetainedBasis)
		}
	}
	if beyond == 0 || beyond == len(r.Designs) {
		t.Errorf("%d of %d designs are extrapolated: that tests nothing", beyond, len(r.Designs))
	}
}

// TestGrowthChart: the law goes on from the last point to what the Capacity says of twice
// as many stacks.
func TestGrowthChart(t *testing.T) {
	r, err := report.Estimate(t.Context(), &trace{n: 1100}, report.Options{}) // each stack is new
	if err != nil {
		t.Fatal(err)
	}
	law := &r.Capacity.Growth
	if law.Law == "" {
		t.Fatalf("no law: %s", law.Why)
	}
	points := series(t, growthChart("x", r.Growth, law))["extrapolated"]
	last := r.Growth[len(r.Growth)-1]
	first, end := decode[[2]float64](t, points[0]), decode[[2]float64](t, points[len(points)-1])
	at := math.Round(1e6*float64(last.Seconds)) / 1e6
	if last.Seconds != r.Input.Seconds || at == 0 {
		t.Errorf("the curve ends after %v of %v", last.Seconds, r.Input.Seconds)
	}
	if want := [2]float64{at, float64(last.Unique)}; first != want {
		t.Errorf("it goes on from %v, want %v", first, want)
	}
	if want := [2]float64{2 * at, float64(law.Doubled)}; math.Abs(end[0]-want[0]) > 2e-6 || math.Abs(end[1]-want[1]) > 0.51 {
		t.Errorf("it ends at %v, want %v", end, want)
	}
	for i := range r.Growth {
		r.Growth[i].Seconds = report.Unknown
	}
	points = series(t, growthChart("x", r.Growth, law))["extrapolated"]
	if end := decode[[2]float64](t, points[len(points)-1]); end[0] != 2*float64(last.Stacks) {
		t.Errorf("without times it ends at %v", end)
	}
}
