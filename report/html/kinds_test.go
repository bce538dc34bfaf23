package html

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ftracelab/report"
	"ftracelab/report/experiment"
	"ftracelab/report/summary"
)

// fleet is the answer for so many machines. The last one has more stacks than all others.
func fleet(t testing.TB, n int) *report.Fleet {
	t.Helper()
	m := summary.NewMerger(nil)
	for i := range n {
		events := 300 + 10*i
		if i == n-1 {
			events = 6000
		}
		s := new(summary.Summary)
		if _, err := report.Estimate(context.Background(), &trace{n: events}, report.Options{Summary: s, Machine: fmt.Sprintf("web%02d", i)}); err != nil {
			t.Fatal(err)
		}
		if err := m.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	return report.EstimateFleet(m.Sum(), report.FleetOptions{Path: "fleet.ftls"})
}

func writeFleet(t testing.TB, f *report.Fleet) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, &report.Document{Fleets: []*report.Fleet{f}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outcome is the result of an experiment whose workload is another one for each seed.
func outcome(t testing.TB) *experiment.Table {
	t.Helper()
	r := experiment.Runner{Open: func(_ context.Context, _ experiment.Workload, seed uint32) (*experiment.Source, error) {
		return &experiment.Source{Source: &trace{n: 200 * int(seed)}, Close: func() error { return nil }}, nil
	}}
	tab, err := r.Run(context.Background(), experiment.Spec{
		Title: "an experiment", Question: "Which?", Workloads: []experiment.Workload{{Scenario: "a"}, {Scenario: "b"}},
		Designs: []string{"full-stacks", "stackmap:bits=10", "stackmap:bits=12", "no-stacks"}, Seeds: []uint32{1, 2, 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func writeExperiment(t testing.TB, tab *experiment.Table) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteExperiment(&b, tab); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFleetPage: the page of a fleet has what the text has: the answer, the bits that suit,
// and the machines that are unlike the others, and at its top what was lost.
func TestFleetPage(t *testing.T) {
	f := fleet(t, 9)
	f.Assumed = append(f.Assumed, "events are missing on 1 machine")
	page := writeFleet(t, f)
	if f.Outlying == 0 || f.Outliers[0].Machine != "web08" {
		t.Fatalf("%+v", f.Outliers)
	}
	for _, want := range []string{
		"<h2 id=\"report-0\"><bdi>fleet.ftls</bdi></h2>", ">web08<", fmt.Sprintf("<b>%d · %d · %d</b><span>bits suit", f.Suits[0].Bits, f.Suits[1].Bits, f.Suits[2].Bits),
		"bits suit 50 · 90 · 99 % of the machines",
		"<li>Events are missing on 1 machine.</li>", report.Group(f.Input.Events) + " events on 9 machines",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if lost, figures := strings.Index(page, "Events are missing"), strings.Index(page, `class="facts"`); lost > figures {
		t.Error("what was lost stands after the figures")
	}
	if before, verdict := strings.Index(page, "an event takes"), strings.Index(page, "<strong>The map costs"); before < 0 || verdict < before {
		t.Error("the verdict is not there")
	}
	if same := writeFleet(t, f); same != page {
		t.Error("the same fleet twice gives two pages")
	}
}

// TestFleetOfNothing: a summary without events, and one without stacks or times, is a page.
func TestFleetOfNothing(t *testing.T) {
	for _, machines := range [][]summary.Machine{nil, {{Name: "idle", Events: 5, CPUs: 1, BusiestEvents: 5, EventBytes: 100}}} {
		f := report.EstimateFleet(&summary.Summary{Machines: machines}, report.FleetOptions{Path: "x"})
		page := writeFleet(t, f)
		checkPage(t, page, 1)
		if !strings.Contains(page, f.Answer.Sentence) {
			t.Errorf("no answer on the page: %s", f.Answer.Sentence)
		}
	}
}

// TestFleetSliders moves both sliders of a fleet to each of their stops: the script shows
// what the answer for that buffer and map says.
func TestFleetSliders(t *testing.T) {
	vm := script(t)
	f := fleet(t, 9)
	m := newFleetWhatIf("x", f).Model.(fleetModel)
	for stop, kb := range m.Buffers {
		for _, bits := range m.Bits {
			var rows [][]string
			call(t, vm, &rows, "fleetCells", m, stop, bits)
			var want [][]string
			for i := range m.Sizes {
				if s := &m.Sizes[i]; s.Bits == 0 || s.Bits == bits {
					want = append(want, fleetCells(s, kb, stop))
				}
			}
			if len(want) != 2 || !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
				t.Errorf("%d KB, bits=%d: %q, want %q", kb, bits, rows, want)
			}
		}
	}
}

// TestFleetCharts: the bars add up to the bytes of an event, and the boxes are the
// percentiles.
func TestFleetCharts(t *testing.T) {
	f := fleet(t, 9)
	s := series(t, fleetBytesChart("x", f))
	for i, d := range f.Designs {
		at := len(f.Designs) - 1 - i
		if sum := decode[float64](t, s["events"][at]) + decode[float64](t, s["stacks and ids"][at]); math.Abs(sum-d.BytesPerEvent) > 0.011 {
			t.Errorf("%s: %g bytes, want %g", d.Name, sum, d.BytesPerEvent)
		}
	}
	reach, ok := fleetReach("x", f)
	if !ok {
		t.Fatal("no reach")
	}
	boxes := series(t, reach.Charts[0])["extrapolated"]
	for i, what := range []string{"seconds back, stackmap", "seconds back, full-stacks"} {
		n := slices.IndexFunc(f.Percentiles, func(p report.Percentiles) bool { return p.What == what })
		p := f.Percentiles[n]
		box := decode[[]float64](t, boxes[i])
		if want := []float64{p.Least, p.P10, p.P50, p.P90, p.Most}; !slices.EqualFunc(box, want, func(a, b float64) bool { return math.Abs(a-b) < 2e-4 }) {
			t.Errorf("%s: %v, want %v", what, box, want)
		}
	}
}

// TestSweepIsWorth: a map is above the dashed line of the chart where Answer.Pays would be
// true of it.
func TestSweepIsWorth(t *testing.T) {
	pays := map[bool]int{}
	for bits := 10; bits <= 18; bits++ {
		r := estimate(t, false, report.Options{Bits: bits, BufferSizeKB: 4096})
		s := series(t, sweepChart("x", r, r.Sweep, r.Input.KernelStacks))
		worth := decode[float64](t, s["events held, × those of full stacks in as much memory"][bits-10])
		if math.Abs(worth-1) > 0.02 && (worth > 1) != r.Answer.Pays {
			t.Errorf("bits=%d: %g times the events, pays %v", bits, worth, r.Answer.Pays)
		}
		pays[r.Answer.Pays]++
	}
	if len(pays) != 2 {
		t.Errorf("%v: that tests nothing", pays)
	}
}

// TestProbesChart: the shares add up to all lookups.
func TestProbesChart(t *testing.T) {
	r := estimate(t, false, report.Options{})
	s, ok := probes("x", r)
	if !ok {
		t.Fatal("no probes")
	}
	for name, data := range series(t, s.Charts[0]) {
		sum := 0.0
		for _, d := range data {
			sum += decode[float64](t, d)
		}
		if math.Abs(sum-100) > 0.1 {
			t.Errorf("%s: %g", name, sum)
		}
	}
}

// TestExperimentPage: the bars add up to the means, and the whiskers are the intervals.
func TestExperimentPage(t *testing.T) {
	tab := outcome(t)
	page := writeExperiment(t, tab)
	if !strings.Contains(page, "<strong>"+tab.Verdict()+"</strong>") {
		t.Error("no verdict")
	}
	for n, b := range tab.Blocks() {
		s := series(t, experimentBytes(fmt.Sprint("x", n), &b))
		for i, r := range b.Rows {
			at, f := len(b.Rows)-1-i, r.Figures["bytes_per_event"]
			if sum := decode[float64](t, s["bytes of an event"][at]) + decode[float64](t, s["of its stacks and ids"][at]); math.Abs(sum-f.Mean) > 2e-4 {
				t.Errorf("%s: %g, want %g", r.Design, sum, f.Mean)
			}
			box := decode[[]float64](t, s["95 % interval"][at])
			if math.Abs(box[4]-box[0]-2*f.Half) > 2e-4 || math.Abs(box[2]-f.Mean) > 1e-4 {
				t.Errorf("%s: %v, want %g ± %g", r.Design, box, f.Mean, f.Half)
			}
		}
	}
	tab.Answer, tab.Notes = "A is best. Bits cost.", []string{"kmem: 3 events were lost"}
	page = writeExperiment(t, tab)
	for _, want := range []string{"<strong>A is best.</strong> Bits cost.", "<li>kmem: 3 events were lost.</li>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestHostileKinds: names of machines, workloads and designs are text, on the page and in
// the scripts.
func TestHostileKinds(t *testing.T) {
	const bad = "</script><script>alert(1)</script>&#34;,x:alert(2),\"\x1b[31m\u202e"
	f := fleet(t, 9)
	f.Input.Path, f.Outliers[0].Machine, f.Assumed, f.Caveats = bad, bad, []string{bad}, []string{bad}
	tab := outcome(t)
	tab.Spec.Title, tab.Spec.Question, tab.Answer, tab.Notes = bad, bad, bad, []string{bad}
	for i := range tab.Rows {
		tab.Rows[i].Workload, tab.Rows[i].Design = bad, bad
	}
	for name, page := range map[string]string{"fleet": writeFleet(t, f), "experiment": writeExperiment(t, tab)} {
		if strings.Contains(page, "<script>alert") || strings.Contains(page, `",x:alert(2)`) || strings.ContainsAny(page, "\x1b\u202e") {
			t.Errorf("%s: a name is more than text", name)
		}
		_, options, _ := strings.Cut(page, "var options = ")
		options, _, _ = strings.Cut(options, "\n};\n")
		if options = strings.TrimSuffix(strings.TrimSpace(options), ",") + "}"; !json.Valid([]byte(options)) {
			t.Errorf("%s: the charts' options are no JSON", name)
		}
	}
}
