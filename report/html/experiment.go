package html

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"ftracelab/report"
	"ftracelab/report/experiment"
)

// How many workloads have figures at the top of the page of an experiment, and how many
// have charts. A page with more charts would be too long to open.
const (
	mostBest   = 6
	mostCharts = 60
)

// secondSentence is where a first sentence ends.
var secondSentence = regexp.MustCompile(`\. \p{Lu}`)

// newExperiment prepares the view of an experiment.
func newExperiment(t *experiment.Table) *view {
	v := &view{ID: "experiment", Name: t.Spec.Title, Summary: t.Spec.Question, Verdict: t.Verdict()}
	if at := secondSentence.FindStringIndex(v.Verdict); at != nil {
		v.Verdict, v.After = v.Verdict[:at[0]+1], v.Verdict[at[0]+1:]
	}
	for _, note := range t.Notes {
		v.Assumed = append(v.Assumed, note+".")
	}
	if len(t.Spec.Seeds) == 1 {
		v.Assumed = append(v.Assumed, "There was one seed, so no figure has a confidence interval.")
	}
	blocks := t.Blocks()
	for n := range blocks {
		b := &blocks[n]
		if best := b.Best(); best != nil && n < mostBest {
			v.Facts = append(v.Facts, fact{percent(best.Figures["saving_pct"].Mean), fmt.Sprintf("fewer bytes per event with %s: %s", best.Design, name(t, b)), true})
		}
		s := section{Title: name(t, b), Basis: "replayed", Lead: b.Caption + ".", Table: table{Head: []string{"design"}}}
		if n < mostCharts {
			s.Charts = blockCharts(n, t, b)
		}
		for _, m := range t.Columns() {
			s.Table.Head = append(s.Table.Head, m.Name)
		}
		for i := range b.Rows {
			s.Table.add(append([]string{b.Rows[i].Design}, t.Cells(&b.Rows[i])...)...)
		}
		v.Sections = append(v.Sections, s)
	}
	if len(blocks) > mostCharts {
		v.Caveats = append(v.Caveats, fmt.Sprintf("the first %d of %s workloads and sizes have charts, the others a table only", mostCharts, report.Group(uint64(len(blocks)))))
	}
	what := section{Title: "What the columns are"}
	for _, m := range t.Columns() {
		note := m.Name + ": " + m.What
		if m.Unit != "" {
			note += " (" + m.Unit + ")"
		}
		what.Notes = append(what.Notes, note+".")
	}
	v.Sections = append(v.Sections, what)
	return v
}

// name is that of the workload, and of the size if there are several.
func name(t *experiment.Table, b *experiment.Block) string {
	r := &b.Rows[0]
	title := r.Workload
	if len(t.Spec.BufferSizeKB) > 1 {
		title += fmt.Sprintf(", %s KB per CPU", report.Group(uint64(r.BufferSizeKB)))
	}
	if len(t.Spec.SubbufSize) > 1 {
		title += fmt.Sprintf(", sub-buffers of %s bytes", report.Group(uint64(r.SubbufSize)))
	}
	return title
}

// blockCharts shows the bytes, and of the other columns the first one in which designs
// other than the base differ.
func blockCharts(n int, t *experiment.Table, b *experiment.Block) []chart {
	all := []chart{experimentBytes(fmt.Sprintf("chart-%d-bytes", n), b)}
	for _, m := range t.Columns() {
		if m.Name == "bytes_per_event" || m.Name == "saving_pct" {
			continue
		}
		for i := 2; i < len(b.Rows); i++ {
			if b.Rows[i].Figures[m.Name].Mean != b.Rows[1].Figures[m.Name].Mean {
				return append(all, experimentFigures(fmt.Sprintf("chart-%d-%s", n, m.Name), b, &m))
			}
		}
	}
	return all
}

// experimentBytes shows the bytes of an event with each design, with the confidence
// interval of their sum.
func experimentBytes(id string, b *experiment.Block) chart {
	var events, stacks []float64
	for i := range b.Rows {
		f := b.Rows[i].Figures
		stacks = append(stacks, f["stack_bytes_per_event"].Mean)
		events = append(events, f["bytes_per_event"].Mean-stacks[i])
	}
	return withIntervals(id, "Bytes per event of each design", b, "bytes_per_event", 1, []bars{{"bytes of an event", events}, {"of its stacks and ids", stacks}})
}

// experimentFigures shows one figure of each design, with its confidence interval.
func experimentFigures(id string, b *experiment.Block, m *experiment.Metric) chart {
	var means []float64
	for i := range b.Rows {
		means = append(means, b.Rows[i].Figures[m.Name].Mean)
	}
	title, scale := m.Name, 1.0
	switch {
	case m.Unit == "B" && slices.Max(means) >= 10*kibibyte:
		title, scale = title+", KiB", kibibyte
	case m.Unit != "":
		title += ", " + m.Unit
	}
	return withIntervals(id, m.Name+" of each design", b, m.Name, scale, []bars{{title, means}})
}

const kibibyte = 1024

// bars are one part of the bars of a chart, by row.
type bars struct {
	name   string
	values []float64
}

// withIntervals draws a bar for each row, made of parts, and where there is one the
// confidence interval of the whole, which is the figure of that metric. The interval is a
// box plot that has whiskers and no box. All of it is divided by scale.
func withIntervals(id, what string, b *experiment.Block, metric string, scale float64, parts []bars) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forLabels)...)
	var names []string
	var intervals []opts.BoxPlotData
	any := false
	for i := len(b.Rows) - 1; i >= 0; i-- {
		r := &b.Rows[i]
		names = append(names, label(r.Design))
		f := r.Figures[metric]
		low, mean, high := round4((f.Mean-f.Half)/scale), round4(f.Mean/scale), round4((f.Mean+f.Half)/scale)
		intervals = append(intervals, opts.BoxPlotData{Value: []float64{low, mean, mean, mean, high}})
		any = any || f.Half > 0
	}
	bar.SetXAxis(names)
	for _, p := range parts {
		var data []opts.BarData
		for i := len(p.values) - 1; i >= 0; i-- {
			data = append(data, opts.BarData{Value: round4(p.values[i] / scale)})
		}
		bar.AddSeries(p.name, data, charts.WithBarChartOpts(opts.BarChart{Stack: "whole"}))
	}
	text := what
	if any {
		box := charts.NewBoxPlot()
		box.AddSeries("95 % interval", intervals, charts.WithItemStyleOpts(opts.ItemStyle{Color: "#888", BorderColor: "#888", BorderWidth: 2}))
		bar.Overlap(box)
		text += ", with the 95 % confidence interval of the mean"
	}
	bar.XYReversal()
	return newChart(id, text+"; the same figures are in the table below", len(b.Rows) < 6, bar)
}
