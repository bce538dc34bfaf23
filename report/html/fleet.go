package html

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ftracelab/report"
)

// newFleet prepares the view of a fleet, which is number n of its page.
func newFleet(n int, f *report.Fleet) *view {
	id := func(name string) string { return fmt.Sprintf("chart-%d-%s", n, name) }
	in, a := &f.Input, &f.Answer
	v := &view{ID: fmt.Sprintf("report-%d", n), Name: in.Path, Assumed: fleetAssumed(f), Caveats: f.Caveats}
	v.Summary = fmt.Sprintf("summary: %s events on %s, %s kernel stacks on %s, %s user stacks", report.Group(in.Events), machines(in.Machines),
		report.Group(in.KernelStacks), machines(in.MachinesWithStack), report.Group(in.UserStacks))
	v.Before, v.Verdict = a.Sentence, ""
	if saves, costs, ok := strings.Cut(a.Sentence, ". The map "); ok {
		v.Before, v.Verdict = saves+". ", "The map "+costs
	}
	if a.Bits > 0 {
		v.Facts = append(v.Facts,
			fact{percent(a.SavingPct), fmt.Sprintf("fewer bytes per event with stackmap at bits=%d", a.Bits), true},
			fact{fmt.Sprintf("%.2f×", a.Times), "the events in the same buffers", a.Times > 1},
			fact{fmt.Sprintf("%s of %s", report.Group(uint64(a.Pays)), report.Group(uint64(in.Machines))), "machines on which the map pays", 2*a.Pays > in.Machines},
		)
	}
	if len(f.Suits) > 0 {
		var bits, shares []string
		for _, s := range f.Suits {
			bits, shares = append(bits, fmt.Sprint(s.Bits)), append(shares, fmt.Sprint(s.Pct))
		}
		v.Facts = append(v.Facts, fact{strings.Join(bits, " · "), "bits suit " + strings.Join(shares, " · ") + " % of the machines with kernel stacks", false})
	}
	if in.KernelStacks > 0 {
		different := fact{report.Group(in.UniqueStacks), "different kernel stacks on all machines together", false}
		if in.UniqueBasis == report.Extrapolated {
			different.What += fmt.Sprintf(", estimated from one in %s", report.Group(in.SampledOf))
		}
		v.Facts = append(v.Facts, different)
	}
	v.Sections = append(v.Sections, fleetBytes(id("bytes"), f))
	if s, ok := fleetReach(id("reach"), f); ok {
		v.Sections = append(v.Sections, s)
	}
	if len(f.Sweep) > 0 {
		v.Sections = append(v.Sections, fleetSweep(id("sweep"), f))
	}
	v.Sections = append(v.Sections, fleetPercentiles(f), fleetOutliers(f))
	if len(f.CPUs) > 0 {
		v.Sections = append(v.Sections, fleetCPUs(id("cpus"), f))
	}
	v.WhatIf = newFleetWhatIf(fmt.Sprintf("whatif-%d", n), f)
	return v
}

func machines(n int) string {
	if n == 1 {
		return "1 machine"
	}
	return report.Group(uint64(n)) + " machines"
}

// fleetAssumed lists what was assumed and lost where the answer would be another one
// without it.
func fleetAssumed(f *report.Fleet) (list []string) {
	for _, a := range f.Assumed {
		list = append(list, sentence(a))
	}
	if f.Answer.Bits > 0 {
		list = append(list,
			"What the buffers hold is extrapolated from the mean bytes of an event, without the tails of pages.",
			"stackmap needs the stackmap patches (posted as an RFC, not merged). The memory of the map is what a kernel's structures of this size take; it was not measured.")
	}
	return list
}

func fleetBytes(id string, f *report.Fleet) section {
	s := section{
		Title: "All machines together", Basis: "replayed, times extrapolated",
		Lead:   "Records without page headers and tails.",
		Charts: []chart{fleetBytesChart(id, f)},
		Table:  table{Head: []string{"design", "bytes", "bytes per event", "saving", "times the events held", "stacks dropped", "all maps"}},
	}
	for _, d := range f.Designs {
		s.Table.add(d.Name, report.Group(d.Bytes), fmt.Sprintf("%.2f", d.BytesPerEvent), percent(d.SavingPct), fmt.Sprintf("~%.2f×", d.Times),
			report.Group(d.Drops), report.Bytes(int64(d.MapBytes)))
	}
	return s
}

// fleetReach shows how far back the machines look, with their buffers as they are.
func fleetReach(id string, f *report.Fleet) (section, bool) {
	s := section{
		Title: "How far back the machines look", Basis: "extrapolated",
		Lead: fmt.Sprintf("Seconds in a buffer of %s KB, for the busiest CPU of each machine. The box goes from what 10 %% of the machines do not exceed to what 90 %% do not, the line in it is the median, and the ends are the least and the most.",
			report.Group(uint64(f.Settings.BufferSizeKB))),
		Table: table{Head: percentileHead("design")},
	}
	var rows []reachRow
	for _, size := range f.WhatIf.Sizes {
		p := size.SecondsPerKB
		if p.Count == 0 || size.Bits != 0 && size.Bits != f.Answer.Bits {
			continue
		}
		row := reachRow{name: "full-stacks"}
		if size.Bits > 0 {
			row.name = fmt.Sprintf("stackmap:bits=%d", size.Bits)
		}
		cells := []string{row.name, report.Group(p.Count) + " machines"}
		for i, per := range []float64{p.Least, p.P10, p.P50, p.P90, p.P99, p.Most} {
			seconds := per * float64(f.Settings.BufferSizeKB)
			if i != 4 {
				row.box = append(row.box, seconds)
			}
			cells = append(cells, report.Figure(round4(seconds)))
		}
		rows = append(rows, row)
		s.Table.add(cells...)
	}
	if len(rows) == 0 {
		return s, false
	}
	s.Charts = []chart{reachChart(id, rows)}
	return s, true
}

func fleetSweep(id string, f *report.Fleet) section {
	s := section{
		Title: "ftrace_stackmap.bits", Basis: "replayed, the same map on every machine",
		Lead:   "A map suits a machine if it has room for all of its stacks and for as many again. It pays if it is worth more than its memory in a full buffer.",
		Charts: []chart{fleetSweepChart(id, f)},
		Table:  table{Head: []string{"bits", "suits", "no room on", "stacks dropped", "bytes per event", "saving", "map on each", "pays on"}},
	}
	for _, b := range f.Sweep {
		s.Table.add(fmt.Sprint(b.Bits), percent(b.SuitsPct), machines(b.Dropping), report.Group(b.Drops), fmt.Sprintf("%.2f", b.BytesPerEvent),
			percent(b.SavingPct), report.Bytes(int64(b.MapBytes)), machines(b.Pays))
		s.Table.Rows[len(s.Table.Rows)-1].Chosen = b.Bits == f.Answer.Bits
	}
	return s
}

func percentileHead(what string) []string {
	return []string{what, "of", "least", "10 %", "50 %", "90 %", "99 %", "most"}
}

func fleetPercentiles(f *report.Fleet) section {
	s := section{
		Title: "How machines, events and stacks differ", Basis: "measured, replayed; seconds extrapolated",
		Lead:  "A column has the value that so many percent of them do not exceed.",
		Table: table{Head: percentileHead("figure")},
	}
	for _, p := range f.Percentiles {
		s.Table.add(p.What, report.Group(p.Count)+" "+p.Over, report.Figure(p.Least), report.Figure(p.P10), report.Figure(p.P50),
			report.Figure(p.P90), report.Figure(p.P99), report.Figure(p.Most))
	}
	return s
}

func fleetOutliers(f *report.Fleet) section {
	s := section{
		Title: "Machines unlike the others", Basis: "measured and replayed",
		Lead:  "None is: no figure of a machine lies far from those of the others, or there are too few machines to say.",
		Table: table{Head: []string{"machine", "figure", "value", "median of all"}},
	}
	if f.Outlying > 0 {
		s.Lead = "These lie far outside the middle half of the machines, the farthest first."
	}
	if f.Outlying > len(f.Outliers) {
		s.Notes = append(s.Notes, fmt.Sprintf("These are the farthest %d of %s.", len(f.Outliers), report.Group(uint64(f.Outlying))))
	}
	for _, o := range f.Outliers {
		s.Table.add(o.Machine, o.What, report.Figure(o.Value), report.Figure(o.Median))
	}
	return s
}

func fleetCPUs(id string, f *report.Fleet) section {
	s := section{
		Title: "CPUs", Basis: "measured", Folded: true,
		Lead:  "Events on the CPUs of each number, over the machines that have one.",
		Table: table{Head: []string{"CPU", "machines", "events", "events per second on each"}},
	}
	if slices.ContainsFunc(f.CPUs, func(c report.FleetCPU) bool { return c.PerSecond > 0 }) {
		s.Charts = []chart{fleetCPUChart(id, f.CPUs)}
	}
	for _, c := range f.CPUs {
		s.Table.add(fmt.Sprint(c.CPU), report.Group(c.Machines), report.Group(c.Events), report.Figure(c.PerSecond))
	}
	return s
}

// fleetModel is what the script recomputes from (fleetCells in whatif.js).
type fleetModel struct {
	stops
	Fleet bool        `json:"fleet"`
	Sizes []fleetSize `json:"sizes"`
}

type fleetSize struct {
	Bits     int       `json:"bits"`   // 0: full stacks
	PerKB    []float64 `json:"per_kb"` // the seconds that 10, 50 and 90 % of the machines do not exceed; empty: unknown
	Pays     []int     `json:"pays"`   // by stop of the buffer
	Drops    uint64    `json:"drops"`
	Dropping int       `json:"dropping"`
	MapBytes uint64    `json:"map_bytes"`
}

// newFleetWhatIf is nil if there is nothing to compute.
func newFleetWhatIf(id string, f *report.Fleet) *whatIf {
	if f.Input.Events == 0 {
		return nil
	}
	own := uint64(f.Settings.BufferSizeKB)
	m := fleetModel{Fleet: true, stops: stops{Buffers: f.WhatIf.BuffersKB, Buffer: slices.Index(f.WhatIf.BuffersKB, own)}}
	for i, size := range f.WhatIf.Sizes {
		s := fleetSize{Bits: size.Bits, Pays: size.Pays, PerKB: []float64{}}
		if p := size.SecondsPerKB; p.Count > 0 {
			s.PerKB = []float64{p.P10, p.P50, p.P90}
		}
		if size.Bits > 0 { // the rows after that of full stacks are those of the sweep
			b := &f.Sweep[i-1]
			s.Drops, s.Dropping, s.MapBytes = b.Drops, b.Dropping, b.MapBytes
			m.Bits = append(m.Bits, size.Bits)
		}
		m.Sizes = append(m.Sizes, s)
	}
	m.Chosen = max(0, slices.Index(m.Bits, f.Answer.Bits))
	w := &whatIf{ID: id, Stops: m.stops, Model: m, Lead: "Seconds back for the busiest CPU of a machine, that 10, 50 and 90 % of the machines do not exceed. From the mean bytes of an event."}
	w.Table = table{
		Caption: "With " + m.setting(),
		Head:    []string{"design", "bits", "10 %, seconds", "50 %", "90 %", "stacks dropped", "on machines", "map on each", "pays on machines"},
	}
	for i := range m.Sizes {
		if s := &m.Sizes[i]; s.Bits == 0 || s.Bits == m.Bits[m.Chosen] {
			w.Table.add(fleetCells(s, m.Buffers[m.Buffer], m.Buffer)...)
		}
	}
	return w
}

// fleetCells is a row of the table.
func fleetCells(s *fleetSize, kb uint64, stop int) []string {
	cells := []string{"full-stacks", "–"}
	if s.Bits > 0 {
		cells = []string{"stackmap", fmt.Sprint(s.Bits)}
	}
	for _, per := range s.PerKB {
		cells = append(cells, report.Figure(round4(float64(kb)*per)))
	}
	if len(s.PerKB) == 0 {
		cells = append(cells, "–", "–", "–")
	}
	if s.Bits == 0 {
		return append(cells, "–", "–", "–", "–")
	}
	return append(cells, report.Group(s.Drops), report.Group(uint64(s.Dropping)), report.Group(s.MapBytes/1024)+" KiB", report.Group(uint64(s.Pays[stop])))
}

// sentence makes a sentence of a note.
func sentence(note string) string {
	r := []rune(note)
	if len(r) == 0 {
		return note
	}
	r[0] = unicode.ToUpper(r[0])
	if last := r[len(r)-1]; last != '.' {
		r = append(r, '.')
	}
	return string(r)
}
