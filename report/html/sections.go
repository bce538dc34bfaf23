package html

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/report"
)

func retained(id string, r *report.Report) section {
	s := section{
		Title: "What the same buffer retains",
		Basis: "replayed",
		Lead: fmt.Sprintf("buffer_size_kb %d: %d sub-buffers of %d bytes for each CPU. Seconds back to where every CPU is complete. Kept whole are the stacks of which all addresses are kept.",
			r.Settings.BufferSizeKB, r.Settings.NrPages, r.Settings.SubbufSize),
		Charts: []chart{retainedChart(id, r)},
		Table:  table{Head: []string{"design", "bytes per event", "saving", "events retained", "times", "seconds", "basis", "kept whole", "hit rate", "drops", "fallbacks"}},
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

// userStacks is what each way to record the user stacks takes.
func userStacks(r *report.Report) section {
	u := r.UserStacks
	s := section{
		Title: "User stacks", Basis: string(u.Basis), Lead: u.Sentence,
		Table: table{
			Caption: "Bytes of the records of user stacks alone; the saving is against walk",
			Head:    []string{"design", "what", "bytes", "bytes per stack", "saving", "walks", "words read", "lost joins", "map bytes"},
		},
	}
	if u.Joined != "" {
		s.Notes = append(s.Notes, u.Joined+".")
	}
	for _, d := range u.Designs {
		s.Table.add(d.Name, d.What, report.Group(d.Bytes), fmt.Sprintf("%.1f", d.PerEvent), percent(d.SavingPct), report.Group(d.Walks),
			report.Group(d.Read), report.Group(d.LostJoins), report.Group(d.MapBytes))
	}
	return s
}

func where(id string, r *report.Report) section {
	s := section{
		Title: "Where the bytes lie", Basis: "replayed",
		Lead:   "Bytes per event, counted on decoded pages.",
		Charts: []chart{bytesChart(id, r)},
		Table:  table{Caption: "Bytes over the whole trace", Head: []string{"part"}},
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

func sweep(id, title string, r *report.Report, points []report.SweepPoint, recommended report.Recommendation, stacks uint64) section {
	s := section{Title: title, Basis: "replayed", Lead: strings.ToUpper(recommended.Why[:1]) + recommended.Why[1:] + "."}
	if recommended.Bits > 0 {
		s.Lead = fmt.Sprintf("Recommended: bits=%d, the %s.", recommended.Bits, recommended.Why)
	}
	s.Table.Head = []string{"bits", "entries", "pool in use", "hit rate", "drops", "fallbacks", "bytes per event", "saving", "map", "net in this trace"}
	if len(points) == 0 {
		return s
	}
	if slices.ContainsFunc(points, func(p report.SweepPoint) bool { return p.Drops > 0 }) {
		s.Lead += " The bars are the stacks that a map of so many bits drops."
	} else {
		s.Lead += " None of these maps drops a stack of the trace, so there are no bars."
	}
	s.Lead += " The line is what it is worth: how many times the events of full stacks are held, if these have the memory of the map for a larger buffer. Below 1 it does not pay."
	s.Charts = []chart{sweepChart(id, r, points, stacks)}
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

// probes shows how many slots the maps looked at for a stack.
func probes(id string, r *report.Report) (section, bool) {
	s := section{
		Title: "How far the maps search", Basis: "counted in the replay", Folded: true,
		Lead:  "The slots that were looked at for a stack. The more of a map is in use, the longer it searches.",
		Table: table{Head: []string{"slots"}},
	}
	var of []*report.Result
	longest := 0
	for i := range r.Designs {
		d := &r.Designs[i]
		if len(d.Work.ProbeLengths) == 0 {
			continue
		}
		of, longest = append(of, d), max(longest, len(d.Work.ProbeLengths))
		s.Table.Head = append(s.Table.Head, d.Name, "of its lookups")
		s.Notes = append(s.Notes, fmt.Sprintf("%s: %.2f slots for a lookup on average, %s at most.", d.Name,
			float64(d.Work.Probes)/float64(d.Work.Lookups), report.Group(uint64(len(d.Work.ProbeLengths)))))
		if d.Work.AtMost {
			s.Notes = append(s.Notes, d.Name+" dropped stacks: each of them counts with all the slots that may be looked at.")
		}
	}
	if len(of) == 0 {
		return s, false
	}
	s.Charts = []chart{probesChart(id, of, longest)}
	for n := range longest {
		cells, any := []string{fmt.Sprint(n + 1)}, false
		for _, d := range of {
			count := uint64(0)
			if n < len(d.Work.ProbeLengths) {
				count = d.Work.ProbeLengths[n]
			}
			any = any || count > 0
			cells = append(cells, report.Group(count), fmt.Sprintf("%.2f %%", 100*float64(count)/float64(d.Work.Lookups)))
		}
		if any {
			s.Table.add(cells...)
		}
	}
	return s, true
}

func depths(id string, r *report.Report) section {
	s := section{
		Title: "Saving by depth of the stack", Basis: "replayed", Folded: true,
		Lead:   "Bytes of a stack's record in full and with a stackmap.",
		Charts: []chart{depthChart(id, r.Depths)},
		Table:  table{Head: []string{"addresses", "stacks", "in full", "mapped", "saving", "of all that is saved"}},
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

// growth shows how unique stacks grew, and how they go on if there is a law for them.
func growth(id, title string, points []report.GrowthPoint, law *report.Growth) section {
	s := section{
		Title: title, Basis: "measured", Folded: true,
		Lead:   "A curve that goes flat has seen what there is; one that still climbs asks for a larger map.",
		Charts: []chart{growthChart(id, points, law)},
		Table:  table{Head: []string{"events", "stacks", "unique", "seconds"}},
	}
	switch {
	case law == nil:
	case law.Law == "":
		s.Lead += fmt.Sprintf(" No law continues it: %s.", law.Why)
	default:
		s.Basis = "measured, the dashed part extrapolated"
		s.Lead += fmt.Sprintf(" The law was %.1f %% off, at most, on the second half of the trace when it was fitted to the first.", law.ErrorPct)
	}
	for _, p := range points {
		s.Table.add(report.Group(p.Events), report.Group(p.Stacks), report.Group(p.Unique), p.Seconds.String())
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
