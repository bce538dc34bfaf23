package html

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/render"

	"ftracelab/internal/plain"
	"ftracelab/report"
)

// chart is a place on the page and what is drawn there. If ID is empty there is
// no chart.
type chart struct {
	ID, Label string
	Low       bool
	option    string
}

// snippet is any chart of go-echarts.
type snippet interface{ RenderSnippet() render.ChartSnippet }

// newChart takes only the option of a go-echarts chart, and not the rest of
// what go-echarts would put on a page.
func newChart(id, label string, low bool, c snippet) chart {
	// The option goes into a script, and no string in it may end the script.
	option := strings.ReplaceAll(c.RenderSnippet().Option, "<", `\u003c`)
	return chart{ID: id, Label: label, Low: low, option: strings.TrimSpace(option)}
}

// label makes a text harmless. It must survive go-echarts, which resolves entities in
// its output.
func label(s string) string { return strings.ReplaceAll(plain.String(s), "&", "+") }

// The room below a chart, in pixels: for the labels of the axis, and for its name as
// well.
const (
	forLabels = "8"
	forName   = "40"
)

// frame returns what all charts share: distances that leave room for the axes'
// names and labels at any width of the page.
func frame(id, bottom string, more ...charts.GlobalOpts) []charts.GlobalOpts {
	return append([]charts.GlobalOpts{
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Top: "0", Type: "scroll"}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "40", Top: "56", Bottom: bottom, ContainLabel: opts.Bool(true)}),
	}, more...)
}

// bytesChart shows for what an event's bytes are used, with a bar for each design.
func bytesChart(id string, r *report.Report) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forLabels)...)
	var names []string
	for i := len(r.Designs) - 1; i >= 0; i-- {
		names = append(names, label(r.Designs[i].Name))
	}
	bar.SetXAxis(names)
	for _, part := range parts() {
		var data []opts.BarData
		for i := len(r.Designs) - 1; i >= 0; i-- {
			d := &r.Designs[i]
			data = append(data, opts.BarData{Value: perEvent(part.of(&d.Breakdown), d.Events)})
		}
		bar.AddSeries(part.name, data, charts.WithBarChartOpts(opts.BarChart{Stack: "bytes"}))
	}
	bar.XYReversal()
	return newChart(id, "Bytes per event of each design by what they are; the same figures are in the table below", false, bar)
}

// retainedChart shows how far back the same buffer reaches. What is beyond the length of
// the trace is extrapolated, and drawn pale.
func retainedChart(id string, r *report.Report) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forLabels)...)
	var names []string
	var seen, beyond []opts.BarData
	what, length := "seconds", float64(r.Input.Seconds)
	if !r.Input.Seconds.Known() { // events are counted instead
		what, length = "events", float64(r.Input.Events)
	}
	for i := len(r.Designs) - 1; i >= 0; i-- {
		d := &r.Designs[i]
		names = append(names, label(d.Name))
		back := float64(d.RetainedSeconds)
		if !r.Input.Seconds.Known() {
			back = float64(d.RetainedEvents)
		}
		more := 0.0
		if d.RetainedBasis == report.Extrapolated {
			more = max(0, back-length)
		}
		seen = append(seen, opts.BarData{Value: back - more})
		beyond = append(beyond, opts.BarData{Value: more})
	}
	bar.SetXAxis(names).
		AddSeries(what+" of the trace", seen, charts.WithBarChartOpts(opts.BarChart{Stack: what})).
		AddSeries("extrapolated", beyond, charts.WithBarChartOpts(opts.BarChart{Stack: what}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: "#5470c6", Opacity: opts.Float(0.35), BorderColor: "#888", BorderWidth: 1}))
	bar.XYReversal()
	return newChart(id, what+" that the same buffer holds with each design; the same figures are in the table below", true, bar)
}

// sweepChart shows by the size of the map what share of the stacks it drops, and what it
// is worth with its memory counted in. What it takes is written below its bits.
func sweepChart(id string, r *report.Report, points []report.SweepPoint, stacks uint64) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(bitsAxis()),
		charts.WithYAxisOpts(opts.YAxis{Name: "%", Max: 100}),
	)...)
	bar.ExtendYAxis(opts.YAxis{Name: "×", Min: 0, SplitLine: &opts.SplitLine{Show: opts.Bool(false)}})
	buffers := float64(r.Settings.BufferSizeKB) * 1024 * float64(max(1, r.Input.CPUs))
	var bits []string
	var drops []opts.BarData
	var worth, even []opts.LineData
	for _, p := range points {
		bits = append(bits, fmt.Sprintf("%d\n%s", p.Bits, short(p.MapBytes)))
		drops = append(drops, opts.BarData{Value: round2(100 * float64(p.Drops) / float64(max(1, stacks)))})
		worth = append(worth, opts.LineData{Value: round2(buffers / (buffers + float64(p.MapBytes)) / (1 - p.SavingPct/100))})
		even = append(even, opts.LineData{Value: 1})
	}
	bar.SetXAxis(bits).AddSeries("stacks dropped %", drops)
	line := charts.NewLine()
	line.SetXAxis(bits).
		AddSeries("events held, × those of full stacks in as much memory", worth, charts.WithLineChartOpts(opts.LineChart{YAxisIndex: 1})).
		AddSeries("as many", even, charts.WithLineChartOpts(opts.LineChart{YAxisIndex: 1, ShowSymbol: opts.Bool(false)}),
			charts.WithLineStyleOpts(opts.LineStyle{Type: "dashed"}))
	bar.Overlap(line)
	return newChart(id, "For each number of bits the stacks dropped, and how many times the events of full stacks are held if both have the same memory; the table below has what it is computed from", false, bar)
}

// bitsAxis has room for the memory of a map below its bits.
func bitsAxis() opts.XAxis {
	return opts.XAxis{
		Name: "bits, and the memory of the map", NameLocation: "middle", NameGap: 42,
		AxisLabel: &opts.AxisLabel{Interval: "0", FontSize: 10},
	}
}

// short prints a size in a few characters.
func short(bytes uint64) string {
	switch mib := float64(bytes) / (1 << 20); {
	case mib < 1:
		return fmt.Sprintf("%.0fK", 1024*mib)
	case mib < 10:
		return fmt.Sprintf("%.1fM", mib)
	default:
		return fmt.Sprintf("%.0fM", mib)
	}
}

// curve are the points of a line.
type curve []opts.LineData

func (c *curve) add(x, y float64) {
	*c = append(*c, opts.LineData{Value: []float64{math.Round(1e6*x) / 1e6, round2(y)}})
}

// growthChart shows how the number of unique stacks grew during the trace: over time, or
// over the stacks if there are no times. With a law, it also shows how that goes on until
// there are twice as many stacks, at the mean rate.
func growthChart(id string, points []report.GrowthPoint, law *report.Growth) chart {
	along, over := func(p report.GrowthPoint) float64 { return float64(p.Seconds) }, "seconds"
	last := points[len(points)-1]
	if last.Seconds <= 0 {
		along, over = func(p report.GrowthPoint) float64 { return float64(p.Stacks) }, "stacks seen"
	}
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: over, Type: "value", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "unique"}),
	)...)
	plot := func(name string, data curve, style opts.LineStyle) {
		line.AddSeries(name, data, charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}), charts.WithLineStyleOpts(style))
	}
	seen, fitted := curve{}, curve{}
	seen.add(0, 0)
	for _, p := range points {
		if x := along(p); x >= 0 {
			seen.add(x, float64(p.Unique))
		}
	}
	plot("unique stacks", seen, opts.LineStyle{})
	if law == nil || law.Law == "" {
		return newChart(id, "Unique stacks over "+over+"; the same figures are in the table below", true, line)
	}
	for _, p := range points {
		if x := along(p); x >= 0 {
			fitted.add(x, law.Unique(float64(p.Stacks)))
		}
	}
	const steps = 24
	n, u := float64(last.Stacks), float64(last.Unique)
	goesOn := curve{}
	for i := range steps + 1 {
		times := 1 + float64(i)/steps
		goesOn.add(along(last)*times, u+law.Unique(n*times)-law.Unique(n))
	}
	plot("law fitted", fitted, opts.LineStyle{Type: "dotted"})
	plot("extrapolated", goesOn, opts.LineStyle{Type: "dashed"})
	return newChart(id, "Unique stacks over "+over+", the law fitted to them, and how it goes on to twice as many stacks; what was seen is in the table below", false, line)
}

// probesChart shows how many slots the lookups of each map looked at.
func probesChart(id string, of []*report.Result, longest int) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "slots looked at", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "%", Max: 100}),
	)...)
	var slots []int
	for n := range longest {
		slots = append(slots, n+1)
	}
	bar.SetXAxis(slots)
	for _, d := range of {
		var data []opts.BarData
		for _, count := range d.Work.ProbeLengths {
			data = append(data, opts.BarData{Value: round2(100 * float64(count) / float64(d.Work.Lookups))})
		}
		bar.AddSeries("% of the lookups of "+label(d.Name), data)
	}
	return newChart(id, "Share of the lookups of each map by the slots that they looked at; the same figures are in the table below", true, bar)
}

// depthChart shows how deep the stacks are and what is saved at each depth.
func depthChart(id string, rows []report.DepthRow) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "addresses", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "stacks"}),
	)...)
	bar.ExtendYAxis(opts.YAxis{Name: "saving %", Min: 0, Max: 100})
	var depth []int
	var stacks []opts.BarData
	var saving []opts.LineData
	for _, d := range rows {
		depth = append(depth, d.Depth)
		stacks = append(stacks, opts.BarData{Value: d.Stacks})
		saving = append(saving, opts.LineData{Value: d.SavingPct})
	}
	bar.SetXAxis(depth).AddSeries("stacks", stacks)
	line := charts.NewLine()
	line.SetXAxis(depth).AddSeries("saving %", saving, charts.WithLineChartOpts(opts.LineChart{YAxisIndex: 1}))
	bar.Overlap(line)
	return newChart(id, "Number of stacks and saving by depth; the same figures are in the table below", false, bar)
}
