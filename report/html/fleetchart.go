package html

import (
	"fmt"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"ftracelab/report"
)

// fleetBytesChart shows what the records of all machines take with each design.
func fleetBytesChart(id string, f *report.Fleet) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forLabels)...)
	none := f.Designs[len(f.Designs)-1].BytesPerEvent // without stacks
	var names []string
	var events, stacks []opts.BarData
	for i := len(f.Designs) - 1; i >= 0; i-- {
		d := &f.Designs[i]
		names = append(names, label(d.Name))
		events = append(events, opts.BarData{Value: round2(none)})
		stacks = append(stacks, opts.BarData{Value: round2(d.BytesPerEvent - none)})
	}
	bar.SetXAxis(names).
		AddSeries("events", events, charts.WithBarChartOpts(opts.BarChart{Stack: "bytes"})).
		AddSeries("stacks and ids", stacks, charts.WithBarChartOpts(opts.BarChart{Stack: "bytes"}))
	bar.XYReversal()
	return newChart(id, "Bytes per event of each design, of events and of stacks; the sums are in the table below", true, bar)
}

// reachRow are the seconds that the machines look back with a design: the least, those
// that 10, 50 and 90 % of them do not exceed, and the most.
type reachRow struct {
	name string
	box  []float64
}

// reachChart shows them. All of it is extrapolated and drawn pale.
func reachChart(id string, rows []reachRow) chart {
	axis := opts.XAxis{Type: "value", Name: "seconds", NameLocation: "middle", NameGap: 28}
	least, most := rows[0].box[0], rows[0].box[4]
	for _, r := range rows {
		least, most = min(least, r.box[0]), max(most, r.box[4])
	}
	if least > 0 && most > 20*least { // otherwise the machines of the middle are a line at the edge
		axis.Type, axis.Name = "log", "seconds, each mark ten times the one before"
	}
	box := charts.NewBoxPlot()
	box.SetGlobalOptions(frame(id, forName, charts.WithXAxisOpts(axis), charts.WithYAxisOpts(opts.YAxis{Type: "category", Data: reachNames(rows)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item"}))...)
	var data []opts.BoxPlotData
	for i := len(rows) - 1; i >= 0; i-- {
		var five []float64
		for _, s := range rows[i].box {
			five = append(five, round4(s))
		}
		data = append(data, opts.BoxPlotData{Value: five})
	}
	box.AddSeries("extrapolated", data, charts.WithItemStyleOpts(opts.ItemStyle{Color: "rgba(84,112,198,0.35)", BorderColor: "#7a8cc8", BorderWidth: 2}))
	return newChart(id, "Seconds that the machines look back with each design; the same figures are in the table below", true, box)
}

func reachNames(rows []reachRow) (names []string) {
	for i := len(rows) - 1; i >= 0; i-- {
		names = append(names, label(rows[i].name))
	}
	return names
}

// fleetSweepChart shows by the size of the map on how many machines it is large enough,
// and on how many it pays.
func fleetSweepChart(id string, f *report.Fleet) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(bitsAxis()),
		charts.WithYAxisOpts(opts.YAxis{Name: "%", Max: 100}),
	)...)
	var bits []string
	var suits []opts.BarData
	var pays, dropping []opts.LineData
	share := func(n int) float64 { return round2(100 * float64(n) / float64(max(1, f.Input.Machines))) }
	for _, b := range f.Sweep {
		bits = append(bits, fmt.Sprintf("%d\n%s", b.Bits, short(b.MapBytes)))
		suits = append(suits, opts.BarData{Value: round2(b.SuitsPct)})
		pays = append(pays, opts.LineData{Value: share(b.Pays)})
		dropping = append(dropping, opts.LineData{Value: share(b.Dropping)})
	}
	bar.SetXAxis(bits).AddSeries("suits % of machines", suits)
	line := charts.NewLine()
	line.SetXAxis(bits).AddSeries("pays on %", pays).AddSeries("drops stacks on %", dropping)
	bar.Overlap(line)
	return newChart(id, "For each number of bits the share of the machines that the map suits, on which it pays, and on which it drops stacks; the same figures are in the table below", false, bar)
}

// fleetCPUChart shows how busy the CPUs of each number are.
func fleetCPUChart(id string, cpus []report.FleetCPU) chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, forName,
		charts.WithXAxisOpts(opts.XAxis{Name: "CPU", NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Name: "events/s"}),
	)...)
	var numbers []int
	var data []opts.BarData
	for _, c := range cpus {
		numbers = append(numbers, c.CPU)
		data = append(data, opts.BarData{Value: round2(c.PerSecond)})
	}
	bar.SetXAxis(numbers).AddSeries("events per second on each machine", data)
	return newChart(id, "Events per second on the CPUs of each number; the same figures are in the table below", true, bar)
}
