package report

import (
	"fmt"
	"strconv"
	"strings"
)

func (t *text) fleet(f *Fleet) {
	in := &f.Input
	t.line("%s (summary)", in.Path)
	t.line("  %s events on %s", Group(in.Events), plural(in.Machines, "machine"))
	if in.KernelStacks > 0 {
		unique := Group(in.UniqueStacks) + " different ones"
		if in.UniqueBasis == Extrapolated {
			unique = fmt.Sprintf("about %s (of one in %s the counts are known)", unique, Group(in.SampledOf))
		}
		t.line("  %s kernel stacks on %s, %s", Group(in.KernelStacks), plural(in.MachinesWithStack, "machine"), unique)
	}
	if in.UserStacks > 0 {
		t.line("  %s user stacks", Group(in.UserStacks))
	}
	t.line("")
	t.wrap("  ", "  ", f.Answer.Sentence)
	t.fleetDesigns(f)
	t.fleetSweep(f)
	t.percentiles(f)
	t.outliers(f)
	t.fleetCPUs(f)
	t.notes(f.Caveats)
}

func (t *text) fleetDesigns(f *Fleet) {
	t.section("Designs", "replayed; all machines together; records without page headers and tails; times extrapolated")
	tab := newTable("design", "bytes", "B/event", "saving", "events held", "drops", "all maps")
	for _, d := range f.Designs {
		tab.row(d.Name, Group(d.Bytes), fmt.Sprintf("%.2f", d.BytesPerEvent), fmt.Sprintf("%.1f%%", d.SavingPct),
			fmt.Sprintf("~%.2fx", d.Times), Group(d.Drops), binaryBytes(d.MapBytes))
	}
	t.table(tab)
}

func (t *text) fleetSweep(f *Fleet) {
	if len(f.Sweep) == 0 {
		return
	}
	t.section("ftrace_stackmap.bits", "replayed; the same map on every machine")
	tab := newTable("bits", "suits", "no room on", "drops", "B/event", "saving", "map", "pays on")
	for _, b := range f.Sweep {
		name := strconv.Itoa(b.Bits)
		if b.Bits == f.Answer.Bits {
			name += " *"
		}
		tab.row(name, fmt.Sprintf("%.1f%%", b.SuitsPct), Group(uint64(b.Dropping)), Group(b.Drops), fmt.Sprintf("%.2f", b.BytesPerEvent),
			fmt.Sprintf("%.1f%%", b.SavingPct), binaryBytes(b.MapBytes), Group(uint64(b.Pays)))
	}
	t.table(tab)
	var suits []string
	for _, s := range f.Suits {
		suits = append(suits, fmt.Sprintf("bits=%d for %d %%", s.Bits, s.Pct))
	}
	t.wrap("  ", "  ", "A map suits a machine if it has room for all of its stacks and for as many again. It takes "+
		strings.Join(suits, ", ")+" of the machines with kernel stacks.")
}

func (t *text) percentiles(f *Fleet) {
	if len(f.Percentiles) == 0 {
		return
	}
	t.section("How machines, events and stacks differ", "least, percentiles, most; seconds extrapolated, for the busiest CPU's buffer")
	tab := newTable("", "of", "least", "10%", "50%", "90%", "99%", "most")
	for _, p := range f.Percentiles {
		tab.row(p.What, Group(p.Count)+" "+p.Over, Figure(p.Least), Figure(p.P10), Figure(p.P50), Figure(p.P90), Figure(p.P99), Figure(p.Most))
	}
	t.table(tab)
}

func (t *text) outliers(f *Fleet) {
	if f.Outlying == 0 {
		return
	}
	title := "Machines unlike the others"
	if f.Outlying > len(f.Outliers) {
		title = fmt.Sprintf("%s: the farthest %d of %s", title, len(f.Outliers), Group(uint64(f.Outlying)))
	}
	t.section(title, "measured and replayed")
	tab := newTable("machine", "figure", "value", "median")
	for _, o := range f.Outliers {
		tab.row(o.Machine, o.What, Figure(o.Value), Figure(o.Median))
	}
	t.table(tab)
}

// mostCPUs is how many CPUs the text shows.
const mostCPUs = 16

func (t *text) fleetCPUs(f *Fleet) {
	if len(f.CPUs) == 0 {
		return
	}
	t.section("CPUs", "measured")
	tab := newTable("cpu", "machines", "events", "events/s each")
	for _, c := range f.CPUs[:min(len(f.CPUs), mostCPUs)] {
		tab.row(strconv.Itoa(c.CPU), Group(c.Machines), Group(c.Events), Figure(c.PerSecond))
	}
	t.table(tab)
	if more := len(f.CPUs) - mostCPUs; more > 0 {
		t.line("  and %s more, which --json shows", plural(more, "CPU"))
	}
}

// Figure prints a figure with as many decimals as its size deserves: 0.123, 123.4, 12,345.
func Figure(v float64) string {
	switch {
	case v < 0:
		return "-" + Figure(-v)
	case v == float64(int64(v)) || v >= 10000:
		return Group(uint64(v + 0.5))
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
