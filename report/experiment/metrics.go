package experiment

import "ftracelab/report"

// Metric is one figure of a design on a trial.
type Metric struct {
	Name, Unit, What string
	// get returns the figure; ok is false if the trial has none, such as seconds of a
	// capture without times.
	get func(r *report.Report, d *report.Result) (v float64, ok bool)
}

// metrics lists them all.
var metrics = []Metric{
	{"bytes_per_event", "B", "records and stacks, without page headers and tails", figure(func(d *report.Result) float64 { return d.BytesPerEvent })},
	{"stack_bytes_per_event", "B", "of these, the records of stacks, ids and cookies", func(_ *report.Report, d *report.Result) (float64, bool) {
		return float64(d.Breakdown.StackRecordBytes) / float64(max(1, d.Events)), true
	}},
	{"saving_pct", "%", "of bytes per event against the first design", figure(func(d *report.Result) float64 { return d.SavingPct })},
	{"retained_events", "", "events that the buffer holds at the end", figure(func(d *report.Result) float64 { return float64(d.RetainedEvents) })},
	{"retained_times", "×", "the same as a multiple of the first design's", figure(func(d *report.Result) float64 { return d.RetainedTimes })},
	{"retained_seconds", "s", "how far the buffer reaches back", func(_ *report.Report, d *report.Result) (float64, bool) {
		return float64(d.RetainedSeconds), d.RetainedSeconds.Known()
	}},
	{"map_bytes", "B", "table and pool of the design's maps", figure(func(d *report.Result) float64 { return float64(d.MapBytes) })},
	{"entries", "", "stacks in the design's maps at the end", figure(func(d *report.Result) float64 { return float64(entries(d)) })},
	{"duplicates", "", "of these, stacks that have another id already", figure(func(d *report.Result) float64 { return float64(duplicates(d)) })},
	{"whole_pct", "%", "of the stacks, those of which all addresses can be read at the end", figure(func(d *report.Result) float64 { return d.Fidelity.WholePct })},
	{"hit_rate_pct", "%", "of the stacks, those that the map had already", figure(func(d *report.Result) float64 { return 100 * d.HitRate })},
	{"drops", "", "stacks that the map had no room for", figure(func(d *report.Result) float64 { return float64(d.Drops) })},
	{"drop_rate_pct", "%", "the same, of all stacks", func(r *report.Report, d *report.Result) (float64, bool) {
		if r.Input.Stacks == 0 {
			return 0, false
		}
		return 100 * float64(d.Drops) / float64(r.Input.Stacks), true
	}},
	{"fallbacks", "", "stacks written in full though the design has a map", figure(func(d *report.Result) float64 { return float64(d.Fallbacks) })},
	{"net_bytes", "B", "bytes saved over the whole trace, less the maps", figure(func(d *report.Result) float64 { return float64(d.Net.NetBytes) })},
	{"pays_after_events", "", "events that pay for the maps", func(_ *report.Report, d *report.Result) (float64, bool) {
		return float64(d.Net.BreakEvenEvents), d.Net.BreakEvenEvents > 0
	}},
	{"probes_per_lookup", "", "slots of a map looked at for one stack, at most", perLookup(func(w *report.Work) uint64 { return w.Probes })},
	{"loads_per_lookup", "", "words loaded from a map for one stack, at most", perLookup(func(w *report.Work) uint64 { return w.Loads })},
	{"rmws_per_lookup", "", "atomic read-modify-writes of a map for one stack", perLookup(func(w *report.Work) uint64 { return w.RMWs })},
	{"pages", "", "sub-buffers written", figure(func(d *report.Result) float64 { return float64(d.Breakdown.Pages) })},
	{"bytes", "B", "whole pages, with headers and tails", figure(func(d *report.Result) float64 { return float64(d.Bytes) })},
	{"tail_pct", "%", "of the pages, what nothing was written to", figure(func(d *report.Result) float64 {
		return 100 * float64(d.Breakdown.PageTails) / float64(max(1, d.Bytes))
	})},
	{"events", "", "of the workload", figure(func(d *report.Result) float64 { return float64(d.Events) })},
	{"unique_stacks", "", "of the workload", func(r *report.Report, _ *report.Result) (float64, bool) {
		return float64(r.Input.UniqueStacks), true
	}},
}

func figure(get func(*report.Result) float64) func(*report.Report, *report.Result) (float64, bool) {
	return func(_ *report.Report, d *report.Result) (float64, bool) { return get(d), true }
}

// perLookup is a count of report.Work for each stack that a map was asked for.
func perLookup(count func(*report.Work) uint64) func(*report.Report, *report.Result) (float64, bool) {
	return func(_ *report.Report, d *report.Result) (float64, bool) {
		if !d.Work.Counted || d.Work.Lookups == 0 {
			return 0, false
		}
		return float64(count(&d.Work)) / float64(d.Work.Lookups), true
	}
}

func entries(d *report.Result) (n uint64) {
	for _, m := range d.Maps {
		n += m.Entries
	}
	return n
}

func duplicates(d *report.Result) (n uint64) {
	for _, m := range d.Maps {
		n += m.Duplicates
	}
	return n
}

// DefaultMetrics are the columns of a spec that names none.
func DefaultMetrics() []string {
	return []string{"bytes_per_event", "saving_pct", "retained_events", "drop_rate_pct", "entries", "map_bytes"}
}

// Metrics describes all of them.
func Metrics() []Metric { return metrics }

// MetricNames lists the names of all of them.
func MetricNames() (names []string) {
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	return names
}

func metricByName(name string) (Metric, bool) {
	for _, m := range metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}
