package html

import (
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
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "32", Top: "56", Bottom: bottom, ContainLabel: opts.Bool(true)}),
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

// sweepChart shows by the size of the map what share of the stacks it drops, what is
// saved, and what memory it takes.
func sweepChart(id string, points []report.SweepPoint, stacks uint64) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "bits", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "%", Max: 100}),
	)...)
	bar.ExtendYAxis(opts.YAxis{Name: "KiB", Type: "log", SplitLine: &opts.SplitLine{Show: opts.Bool(false)}})
	var bits []int
	var drops []opts.BarData
	var saved, mem []opts.LineData
	for _, p := range points {
		bits = append(bits, p.Bits)
		drops = append(drops, opts.BarData{Value: round2(100 * float64(p.Drops) / float64(max(1, stacks)))})
		saved = append(saved, opts.LineData{Value: round2(p.SavingPct)})
		mem = append(mem, opts.LineData{Value: kib(p.MapBytes)})
	}
	bar.SetXAxis(bits).AddSeries("stacks dropped %", drops)
	line := charts.NewLine()
	line.SetXAxis(bits).AddSeries("bytes saved %", saved).
		AddSeries("memory of the map, KiB", mem, charts.WithLineChartOpts(opts.LineChart{YAxisIndex: 1}))
	bar.Overlap(line)
	return newChart(id, "Stacks dropped, bytes saved and memory of the map for each number of bits; the same figures are in the table below", false, bar)
}

// growthChart shows how the number of unique stacks grew during the trace. With a law, it
// also shows how that goes on until there are twice as many stacks.
func growthChart(id string, points []report.GrowthPoint, law *report.Growth) chart {
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "stacks seen", Type: "value", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "unique"}),
	)...)
	plot := func(name string, data []opts.LineData, style opts.LineStyle) {
		line.AddSeries(name, data, charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}), charts.WithLineStyleOpts(style))
	}
	data := []opts.LineData{{Value: []float64{0, 0}}}
	for _, p := range points {
		data = append(data, opts.LineData{Value: []float64{float64(p.Stacks), float64(p.Unique)}})
	}
	plot("unique stacks", data, opts.LineStyle{})
	if law == nil || law.Law == "" {
		return newChart(id, "Unique stacks against stacks seen; the same figures are in the table below", true, line)
	}
	last := points[len(points)-1]
	n, u := float64(last.Stacks), float64(last.Unique)
	var fitted []opts.LineData
	goesOn := []opts.LineData{{Value: []float64{n, u}}}
	const steps = 24
	for i := 1; i <= steps; i++ {
		part := float64(i) / steps
		fitted = append(fitted, opts.LineData{Value: []float64{math.Round(n * part), round2(law.Unique(n * part))}})
		more := law.Unique(n*(1+part)) - law.Unique(n)
		goesOn = append(goesOn, opts.LineData{Value: []float64{math.Round(n * (1 + part)), round2(u + more)}})
	}
	plot("law fitted", fitted, opts.LineStyle{Type: "dotted"})
	plot("extrapolated", goesOn, opts.LineStyle{Type: "dashed"})
	return newChart(id, "Unique stacks against stacks seen, the law fitted to them, and how it goes on to twice as many stacks; what was seen is in the table below", false, line)
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
