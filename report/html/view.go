package html

import (
	"fmt"
	"math"
	"strings"

	"ftracelab/report"
)

// view is what the page shows of one report, fleet or experiment.
type view struct {
	ID, Name, Summary, Verified string
	Before, Verdict, After      string   // the answer; the verdict says what the map costs
	Assumed                     []string // what the answer depends on
	Facts                       []fact
	WhatIf                      *whatIf
	Sections                    []section
	Flame                       *flame
	Top                         []topStack
	Caveats                     []string
}

type fact struct {
	Figure, What string
	Good         bool
}

type section struct {
	ID, Title, Basis, Lead string
	Charts                 []chart
	Table                  table
	Notes                  []string // what stands below the table
	Folded                 bool
}

type table struct {
	Caption string
	Unseen  bool // the caption is that of the section
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

// name gives each section of the page its id and each table its caption.
func (v *view) name() {
	for i := range v.Sections {
		s := &v.Sections[i]
		s.ID = fmt.Sprintf("%s-section-%d", v.ID, i)
		if s.Table.Caption == "" {
			s.Table.Caption, s.Table.Unseen = s.Title, true
		}
	}
}

// newView prepares the view of a report, which is number n of its page.
func newView(n int, r *report.Report) *view {
	id := func(name string) string { return fmt.Sprintf("chart-%d-%s", n, name) }
	in := &r.Input
	v := &view{ID: fmt.Sprintf("report-%d", n), Name: in.Path, Assumed: assumed(r), Verified: "Verified: " + report.Verified(r) + ".", Caveats: r.Caveats}
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
	if r.UserStacks != nil {
		v.Sections = append(v.Sections, userStacks(r))
	}
	if s, ok := costs(r); ok {
		v.Sections = append(v.Sections, s)
	}
	v.Sections = append(v.Sections, sweep(id("sweep"), "ftrace_stackmap.bits", r, r.Sweep, r.Recommendation, r.Input.KernelStacks))
	if recommended := userMap(r); len(r.UserSweep) > 0 {
		v.Sections = append(v.Sections, sweep(id("user-sweep"), "bits of a map for user stacks", r, r.UserSweep, recommended, r.Input.UserStacks))
	}
	if s, ok := probes(id("probes"), r); ok {
		v.Sections = append(v.Sections, s)
	}
	if len(r.Depths) > 0 {
		v.Sections = append(v.Sections, depths(id("depths"), r))
	}
	if len(r.Growth) > 0 {
		v.Sections = append(v.Sections, growth(id("growth"), "Unique kernel stacks", r.Growth, &r.Capacity.Growth))
	}
	if len(r.UserGrowth) > 0 {
		v.Sections = append(v.Sections, growth(id("user-growth"), "Unique user stacks", r.UserGrowth, nil))
	}
	if r.Capacity.Shown() {
		v.Sections = append(v.Sections, capacity(&r.Capacity)...)
	}
	v.WhatIf = newWhatIf(fmt.Sprintf("whatif-%d", n), r)
	v.Flame = newFlame(fmt.Sprintf("flame-%d", n), r.TopStacks)
	v.top(r)
	return v
}

// facts are the figures at the top: those of the answer.
func (v *view) facts(r *report.Report) {
	a := &r.Answer
	v.Verdict = a.Verdict
	v.Before, v.After, _ = strings.Cut(a.Sentence, a.Verdict)
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

// top lists the top stacks. The most frequent one of each kind has the longest bar.
func (v *view) top(r *report.Report) {
	for _, t := range r.TopStacks {
		colour := "--bar"
		if t.Kind == "user" {
			colour = "--bar-user"
		}
		v.Top = append(v.Top, topStack{
			Kind: t.Kind, Count: report.Group(t.Count), Share: percent(t.SharePct), Bytes: report.Bytes(int64(t.Bytes)),
			Frames: frames(&t), Colour: colour, Depth: t.Depth, Width: fmt.Sprintf("%.2f", t.SharePct),
		})
	}
}

// frames is the stack with the innermost function first.
func frames(s *report.TopStack) []string {
	if len(s.Frames) == 0 {
		return []string{"(addresses not kept)"}
	}
	return s.Frames
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

func perEvent(bytes, events uint64) float64 { return round2(float64(bytes) / float64(max(1, events))) }

func round4(x float64) float64 { return math.Round(1e4*x) / 1e4 }

func round2(x float64) float64 { return math.Round(100*x) / 100 }
