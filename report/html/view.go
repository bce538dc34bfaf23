package html

import (
	"fmt"
	"math"
	"strings"

	"ftracelab/report"
)

// view is a report in the form that the page shows.
type view struct {
	Name, Summary, Verified string
	Answer                  string
	Facts                   []fact
	Sections                []section
	Top                     []topStack
	Caveats                 []string
}

type fact struct {
	Figure, What string
	Good         bool
}

type section struct {
	Title, Basis, Lead string
	Chart              chart
	Table              table
	Notes              []string // what stands below the table
	Folded             bool
}

type table struct {
	Caption string
	Head    []string
	Rows    []row
}

type row struct {
	Cells  []string
	Chosen bool
}

type topStack struct {
	Kind, Count, Share, Bytes, Colour string
	Frames                            []string
	Depth                             int
	Width                             string
}

// part is one kind of bytes on the pages.
type part struct {
	name string
	of   func(*report.Breakdown) uint64
}

func parts() []part {
	return []part{
		{"payload", func(b *report.Breakdown) uint64 { return b.Payload }},
		{"common fields", func(b *report.Breakdown) uint64 { return b.CommonFields }},
		{"event headers", func(b *report.Breakdown) uint64 { return b.EventHeaders }},
		{"stack", func(b *report.Breakdown) uint64 { return b.Stack }},
		{"time extends", func(b *report.Breakdown) uint64 { return b.TimeExtends }},
		{"padding", func(b *report.Breakdown) uint64 { return b.Padding }},
		{"page headers", func(b *report.Breakdown) uint64 { return b.PageHeaders }},
		{"page tails", func(b *report.Breakdown) uint64 { return b.PageTails }},
	}
}

// newView prepares report number n of a page.
func newView(n int, r *report.Report) *view {
	id := func(name string) string { return fmt.Sprintf("chart-%d-%s", n, name) }
	in := &r.Input
	v := &view{Name: in.Path, Verified: "Verified: " + report.Verified(r) + ".", Caveats: r.Caveats}
	if v.Name == "" {
		v.Name = "trace"
	}
	cpus := "CPUs"
	if in.CPUs == 1 {
		cpus = "CPU"
	}
	v.Summary = fmt.Sprintf("%s events in %v s on %d %s, %s kernel and %s user stacks", report.Group(in.Events), in.Seconds, in.CPUs, cpus, report.Group(in.KernelStacks), report.Group(in.UserStacks))
	if in.StackIDs > 0 {
		v.Summary += fmt.Sprintf(", %s stack ids whose stacks are not known", report.Group(in.StackIDs))
	}
	if in.Format != "" {
		v.Summary = in.Format + ": " + v.Summary
	}
	v.facts(r)
	v.Sections = append(v.Sections, retained(id("retained"), r), where(id("bytes"), r))
	if s, ok := costs(r); ok {
		v.Sections = append(v.Sections, s)
	}
	v.Sections = append(v.Sections, sweep(id("sweep"), "ftrace_stackmap.bits", r.Sweep, r.Recommendation))
	if recommended := userMap(r); len(r.UserSweep) > 0 {
		v.Sections = append(v.Sections, sweep(id("user-sweep"), "bits of a map for user stacks", r.UserSweep, recommended))
	}
	if len(r.Depths) > 0 {
		v.Sections = append(v.Sections, depths(id("depths"), r))
	}
	if len(r.Growth) > 0 {
		v.Sections = append(v.Sections, growth(id("growth"), "Unique kernel stacks", r.Growth))
	}
	if len(r.UserGrowth) > 0 {
		v.Sections = append(v.Sections, growth(id("user-growth"), "Unique user stacks", r.UserGrowth))
	}
	if r.Capacity.Shown() {
		v.Sections = append(v.Sections, capacity(&r.Capacity)...)
	}
	v.top(r)
	return v
}

// facts are the figures at the top: those of the answer.
func (v *view) facts(r *report.Report) {
	a := &r.Answer
	v.Answer = a.Sentence
	if a.SavingPct > 0 {
		with := a.Design
		if a.Bits > 0 {
			with = fmt.Sprintf("%s at bits=%d", a.Design, a.Bits)
		}
		v.Facts = append(v.Facts,
			fact{percent(a.SavingPct), "fewer bytes per event with " + with, true},
			fact{fmt.Sprintf("%.2f×", a.RetainedTimes), "the events in the same buffer", a.RetainedTimes > 1},
		)
	}
	if a.Bits > 0 {
		pays := fact{report.Bytes(a.MapNetBytes), "net of the map in a full buffer: it pays", true}
		if !a.Pays {
			pays.What, pays.Good = "net of the map in a full buffer: it does not pay here", false
		}
		v.Facts = append(v.Facts, pays)
		if a.Drops > 0 {
			v.Facts = append(v.Facts, fact{report.Group(a.Drops), "stacks for which the map has no room", false})
		}
	}
	if r.Input.KernelStacks > 0 {
		v.Facts = append(v.Facts, fact{report.Group(r.Input.UniqueKernelStacks), "unique kernel stacks", false})
	}
	if r.Input.UserStacks > 0 {
		v.Facts = append(v.Facts, fact{report.Group(r.Input.UniqueUserStacks), "unique user stacks", false})
	}
}

func retained(id string, r *report.Report) section {
	s := section{
		Title: "What the same buffer retains",
		Basis: "replayed",
		Lead: fmt.Sprintf("buffer_size_kb %d: %d sub-buffers of %d bytes for each CPU. Seconds back to where every CPU is complete. Kept whole are the stacks of which all addresses are kept.",
			r.Settings.BufferSizeKB, r.Settings.NrPages, r.Settings.SubbufSize),
		Chart: retainedChart(id, r),
		Table: table{Head: []string{"design", "bytes per event", "saving", "events retained", "times", "seconds", "basis", "kept whole", "hit rate", "drops", "fallbacks"}},
	}
	for _, d := range existingFirst(r) {
		if d.Needs != "" {
			s.Notes = append(s.Notes, d.Name+" needs "+d.Needs+".")
		}
		if d.Why != "" {
			s.Notes = append(s.Notes, d.Why+".")
		}
		name := d.Name
		if !d.Exists {
			name = "what if: " + name
		}
		if d.RetainedBasis == report.Extrapolated {
			s.Basis = "replayed, extrapolated where marked"
		}
		hits := "–"
		if len(d.Maps) > 0 {
			hits = fmt.Sprintf("%.2f %%", 100*d.HitRate)
		}
		s.Table.add(name, fmt.Sprintf("%.2f", d.BytesPerEvent), savings(d), report.Group(d.RetainedEvents),
			fmt.Sprintf("%.2f×", d.RetainedTimes), d.RetainedSeconds.String(), string(d.RetainedBasis),
			percent(d.Fidelity.WholePct), hits, report.Group(d.Drops), report.Group(d.Fallbacks))
	}
	return s
}

// existingFirst lists the designs that exist, and after them those that do not.
func existingFirst(r *report.Report) []*report.Result {
	var ds []*report.Result
	for _, exists := range []bool{true, false} {
		for i := range r.Designs {
			if r.Designs[i].Exists == exists {
				ds = append(ds, &r.Designs[i])
			}
		}
	}
	return ds
}

func where(id string, r *report.Report) section {
	s := section{
		Title: "Where the bytes lie", Basis: "replayed",
		Lead:  "Bytes per event, counted on decoded pages.",
		Chart: bytesChart(id, r),
		Table: table{Caption: "Bytes over the whole trace", Head: []string{""}},
	}
	for i := range r.Designs {
		s.Table.Head = append(s.Table.Head, r.Designs[i].Name)
	}
	for _, p := range parts() {
		cells := []string{p.name}
		for i := range r.Designs {
			cells = append(cells, report.Group(p.of(&r.Designs[i].Breakdown)))
		}
		s.Table.add(cells...)
	}
	cells := []string{"all"}
	for i := range r.Designs {
		cells = append(cells, report.Group(r.Designs[i].Bytes))
	}
	s.Table.add(cells...)
	s.Table.Rows[len(s.Table.Rows)-1].Chosen = true
	return s
}

// costs shows what the maps take, and from when on they pay.
func costs(r *report.Report) (section, bool) {
	s := section{
		Title: "What the maps cost", Basis: "memory assumed",
		Lead: "Table and pool are a kernel's structures of this size; a map is paid for when the bytes saved in the ring exceed it.",
		Table: table{Head: []string{
			"design", "bits", "maps", "saved in this trace", "net of the maps", "pays from events", "net in a full buffer", "pays from KB per CPU",
		}},
	}
	for i := range r.Designs {
		d := &r.Designs[i]
		if len(d.Maps) == 0 {
			continue
		}
		var bits []string
		for _, m := range d.Maps {
			bits = append(bits, fmt.Sprintf("%s: %d", m.Stacks, m.Bits))
		}
		s.Table.add(d.Name, strings.Join(bits, ", "), report.Bytes(int64(d.MapBytes)), report.Bytes(d.Net.SavedBytes), report.Bytes(d.Net.NetBytes),
			orNever(d.Net.BreakEvenEvents), report.Bytes(d.Net.BufferNetBytes), orNever(d.Net.BreakEvenBufferKB))
	}
	return s, len(s.Table.Rows) > 0
}

func sweep(id, title string, points []report.SweepPoint, recommended report.Recommendation) section {
	s := section{Title: title, Basis: "replayed", Lead: strings.ToUpper(recommended.Why[:1]) + recommended.Why[1:] + "."}
	if recommended.Bits > 0 {
		s.Lead = fmt.Sprintf("Recommended: bits=%d, the %s.", recommended.Bits, recommended.Why)
	}
	s.Table.Head = []string{"bits", "entries", "pool in use", "hit rate", "drops", "fallbacks", "bytes per event", "saving", "map", "net in this trace"}
	if len(points) == 0 {
		return s
	}
	s.Chart = sweepChart(id, points)
	for _, p := range points {
		s.Table.add(fmt.Sprint(p.Bits), report.Group(p.Entries), percent(p.PoolPct), fmt.Sprintf("%.2f %%", 100*p.HitRate),
			report.Group(p.Drops), report.Group(p.Fallbacks), fmt.Sprintf("%.2f", p.BytesPerEvent), percent(p.SavingPct),
			report.Bytes(int64(p.MapBytes)), report.Bytes(p.NetBytes))
		s.Table.Rows[len(s.Table.Rows)-1].Chosen = p.Bits == recommended.Bits
	}
	return s
}

// userMap gives the recommendation for the first map of user stacks.
func userMap(r *report.Report) report.Recommendation {
	for i := range r.Designs {
		for _, m := range r.Designs[i].Maps {
			if m.Stacks == "user" {
				return m.Recommended
			}
		}
	}
	return report.Recommendation{}
}

func depths(id string, r *report.Report) section {
	s := section{
		Title: "Saving by depth of the stack", Basis: "replayed", Folded: true,
		Lead:  "Bytes of a stack's record in full and with a stackmap.",
		Chart: depthChart(id, r.Depths),
		Table: table{Head: []string{"addresses", "stacks", "in full", "mapped", "saving", "of all that is saved"}},
	}
	for _, d := range r.Depths {
		name := fmt.Sprint(d.Depth)
		if d.AndDeeper {
			name += " and more"
		}
		s.Table.add(name, report.Group(d.Stacks), fmt.Sprintf("%.1f", d.FullBytes), fmt.Sprintf("%.1f", d.MappedBytes), percent(d.SavingPct), percent(d.ShareOfAll))
	}
	return s
}

func growth(id, title string, points []report.GrowthPoint) section {
	s := section{
		Title: title, Basis: "measured", Folded: true,
		Lead:  "A curve that goes flat has seen what there is; one that still climbs asks for a larger map.",
		Chart: growthChart(id, points),
		Table: table{Head: []string{"events", "stacks", "unique"}},
	}
	for _, p := range points {
		s.Table.add(report.Group(p.Events), report.Group(p.Stacks), report.Group(p.Unique))
	}
	return s
}

// capacity shows what is known of the trace's future, and what a plan asked.
func capacity(c *report.Capacity) []section {
	all := []section{{Title: "Capacity", Basis: "extrapolated", Lead: "At the trace's rate, with its mix of stacks."}}
	if !c.Asked {
		all[0].Lead = c.Brief()
		return all
	}
	if c.Rate > 0 {
		all[0].Lead = fmt.Sprintf("At %s events per second, with the mix of stacks of the trace.", report.Group(uint64(c.Rate+0.5)))
	}
	all[0].Notes = c.Lines()
	for _, g := range c.Tables() {
		s := section{Title: g.Title, Basis: "extrapolated", Table: table{Head: g.Rows[0]}}
		for _, cells := range g.Rows[1:] {
			s.Table.add(cells...)
		}
		all = append(all, s)
	}
	return all
}

// top lists the top stacks. The most frequent one of each kind has the longest bar.
func (v *view) top(r *report.Report) {
	for _, t := range r.TopStacks {
		colour := "--bar"
		if t.Kind == "user" {
			colour = "--bar-user"
		}
		frames := t.Frames
		if len(frames) == 0 {
			frames = []string{"(addresses not kept)"}
		}
		v.Top = append(v.Top, topStack{
			Kind: t.Kind, Count: report.Group(t.Count), Share: percent(t.SharePct), Bytes: report.Bytes(int64(t.Bytes)),
			Frames: frames, Colour: colour, Depth: t.Depth, Width: fmt.Sprintf("%.2f", t.SharePct),
		})
	}
}

func (t *table) add(cells ...string) { t.Rows = append(t.Rows, row{Cells: cells}) }

// savings is what a design saves, or the bounds of that.
func savings(d *report.Result) string {
	if least, most := d.SavingRange(); least < most {
		return percent(least) + " to " + percent(most)
	}
	return percent(d.SavingPct)
}

func percent(p float64) string { return fmt.Sprintf("%.1f %%", p) }

func orNever(n uint64) string {
	if n == 0 {
		return "never"
	}
	return report.Group(n)
}

func perEvent(bytes, events uint64) float64 {
	return math.Round(100*float64(bytes)/float64(max(1, events))) / 100
}

func kib(n uint64) float64 { return math.Round(10*float64(n)/1024) / 10 }
