package html

import (
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

// retainedChart shows how far back the same buffer reaches.
func retainedChart(id string, r *report.Report) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forLabels)...)
	var names []string
	var data []opts.BarData
	what := "seconds" // for a capture without times, events are counted instead
	for i := len(r.Designs) - 1; i >= 0; i-- {
		names = append(names, label(r.Designs[i].Name))
		d := &r.Designs[i]
		if d.RetainedSeconds.Known() {
			data = append(data, opts.BarData{Value: float64(d.RetainedSeconds)})
		} else {
			what, data = "events", append(data, opts.BarData{Value: d.RetainedEvents})
		}
	}
	bar.SetXAxis(names).AddSeries(what, data)
	bar.XYReversal()
	return newChart(id, what+" that the same buffer holds with each design; the same figures are in the table below", true, bar)
}

// sweepChart shows what is saved and what the map takes, by the size of the map.
func sweepChart(id string, points []report.SweepPoint) chart {
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "bits", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "KiB", Type: "log"}),
	)...)
	var bits []int
	var saved, mem []opts.LineData
	for _, p := range points {
		bits = append(bits, p.Bits)
		s := opts.LineData{Value: "-"} // negative values have no place on a logarithmic axis
		if n := p.NetBytes + int64(p.MapBytes); n > 0 {
			s.Value = kib(uint64(n))
		}
		saved = append(saved, s)
		mem = append(mem, opts.LineData{Value: kib(p.MapBytes)})
	}
	line.SetXAxis(bits).AddSeries("saved in this trace", saved).AddSeries("memory of the map", mem)
	return newChart(id, "Bytes saved in this trace and memory of the map for each number of bits; the same figures are in the table below", false, line)
}

// growthChart shows how the number of unique stacks grew during the trace.
func growthChart(id string, points []report.GrowthPoint) chart {
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "stacks seen", Type: "value", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "unique"}),
	)...)
	data := []opts.LineData{{Value: []uint64{0, 0}}}
	for _, p := range points {
		data = append(data, opts.LineData{Value: []uint64{p.Stacks, p.Unique}})
	}
	line.AddSeries("unique stacks", data, charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}))
	return newChart(id, "Unique stacks against stacks seen; the same figures are in the table below", true, line)
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
