package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"ftracelab/internal/plain"
)

// TextOptions say how WriteText lays out reports.
type TextOptions struct {
	Width int  // columns; 0 is 100. Narrower than 60 is treated as 60.
	Work  bool // also say what the designs cost the CPUs, see [Work]
}

// WriteText writes reports for people, in plain text without colours. If names from the
// capture hold characters that are not printable, these are shown as escapes
// (internal/plain).
func WriteText(w io.Writer, opt TextOptions, reports ...*Report) error {
	return (&Document{Reports: reports}).WriteText(w, opt)
}

// WriteText writes the reports and then the answers for summaries, as the function
// [WriteText] does.
func (d *Document) WriteText(w io.Writer, opt TextOptions) error {
	t := &text{width: max(60, cmp.Or(opt.Width, 100))}
	for i, r := range d.Reports {
		if i > 0 {
			t.rule()
		}
		t.report(r, opt.Work)
	}
	for i, f := range d.Fleets {
		if i+len(d.Reports) > 0 {
			t.rule()
		}
		t.fleet(f)
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

// text is a page that is being written.
type text struct {
	b     bytes.Buffer
	width int
}

// rule separates two reports.
func (t *text) rule() {
	t.line("")
	t.line("%s", strings.Repeat("=", t.width))
	t.line("")
}

func (t *text) line(format string, args ...any) {
	t.b.WriteString(plain.String(fmt.Sprintf(format, args...)))
	t.b.WriteByte('\n')
}

func (t *text) report(r *Report, work bool) {
	t.input(r)
	t.designs(r)
	t.breakdown(r)
	t.maps(r)
	t.sweeps(r)
	t.depths(r)
	t.growth("Unique kernel stacks", r.Growth)
	t.growth("Unique user stacks", r.UserGrowth)
	t.userStacks(r.UserStacks)
	t.capacity(r)
	if work {
		t.work(r)
	}
	t.top(r)
	t.notes(r.Caveats)
}

// section starts a part with its title, and says where its figures come from.
func (t *text) section(title string, basis string) {
	t.line("")
	if basis != "" {
		title += " (" + basis + ")"
	}
	t.wrap("", "  ", title)
}

func (t *text) input(r *Report) {
	in := &r.Input
	name := in.Path
	if name == "" {
		name = "trace"
	}
	if in.Format != "" {
		name += " (" + in.Format + ")"
	}
	t.line("%s", name)
	untimed := ""
	if !in.Seconds.Known() && in.Events > 0 {
		untimed = " (the capture has no times in seconds)"
	}
	t.line("  %s events in %s s on %s%s", Group(in.Events), in.Seconds, plural(in.CPUs, "CPU"), untimed)
	if in.KernelStacks > 0 {
		t.line("  %s kernel stacks, %s%s unique, %.1f addresses on average", Group(in.KernelStacks), atLeast(in.KernelAtLeast), Group(in.UniqueKernelStacks), in.KernelMeanDepth)
	}
	if in.UserStacks > 0 {
		t.line("  %s user stacks, %s%s unique, %.1f addresses on average", Group(in.UserStacks), atLeast(in.UserAtLeast), Group(in.UniqueUserStacks), in.UserMeanDepth)
	}
	if in.StackIDs > 0 {
		t.line("  %s stack ids whose stacks are not known", Group(in.StackIDs))
	}
	if d := in.Deferred; d != nil {
		t.line("  %s events wait for a deferred user stack, %s found theirs among %s", Group(d.Cookies), Group(d.Joined), Group(d.Stacks))
	}
	t.wrap("  ", "    ", "verified: "+Verified(r))
	t.line("")
	t.wrap("  ", "  ", r.Answer.Sentence)
}

// Verified says in a clause with what a report's figures were compared.
func Verified(r *Report) string {
	v := &r.Verification
	s := Group(v.LedgerPages) + " pages decoded, equal to the writer's ledger; "
	if v.PagesCompared == 0 {
		return s + "no pages of a kernel's to compare with"
	}
	if v.PagesIdentical == v.PagesCompared && v.PagesUnmatched == 0 {
		s += "all "
	} else {
		s += Group(v.PagesIdentical) + " of "
	}
	s += Group(v.PagesCompared) + " pages of the capture re-created byte for byte"
	if v.PagesSize != r.Settings.SubbufSize {
		s += fmt.Sprintf(", with its own sub-buffers of %d bytes", v.PagesSize)
	}
	if v.PagesCut > 0 {
		s += fmt.Sprintf(" (%s were cut where the reader took them before they were full)", Group(v.PagesCut))
	}
	return s
}

func (t *text) designs(r *Report) {
	t.section("Designs", fmt.Sprintf("replayed; a buffer of %d KB per CPU = %d pages of %d", r.Settings.BufferSizeKB, r.Settings.NrPages, r.Settings.SubbufSize))
	tab := newTable("design", "bytes", "B/event", "saving", "retained", "", "seconds", "whole", "hits", "drops", "fallback")
	guesses := false
	for _, exists := range []bool{true, false} {
		for i := range r.Designs {
			d := &r.Designs[i]
			if d.Exists != exists {
				continue
			}
			if !exists && !guesses {
				guesses = true
				tab.heading("what if")
			}
			tab.row(designRow(d)...)
		}
	}
	t.table(tab)
	for i := range r.Designs {
		if r.Designs[i].RetainedBasis == Extrapolated {
			t.line("  ~ extrapolated: the trace does not fill the buffer")
			break
		}
	}
	t.line("  whole: stacks of which all addresses are kept")
	for i := range r.Designs {
		d := &r.Designs[i]
		if d.Needs != "" {
			t.wrap("  ", "    ", d.Name+" needs "+d.Needs)
		}
		if d.Why != "" {
			t.wrap("  ", "    ", d.Why)
		}
		if f := d.Fidelity; f.Merged > 0 {
			t.wrap("  ", "    ", fmt.Sprintf("%s cannot tell %s different stacks apart: they became %s", d.Name, Group(f.Merged), Group(f.Within)))
		}
		if lost := d.Fidelity.Lost; lost > 0 {
			t.wrap("  ", "    ", fmt.Sprintf("%s lost %s stacks: at the end their ids stand for another stack, or for none", d.Name, Group(lost)))
		}
		for _, m := range d.Maps {
			if m.Duplicates > 0 {
				t.wrap("  ", "    ", fmt.Sprintf("%s: %s of %s entries of its %s map are stacks that have another id already",
					d.Name, Group(m.Duplicates), Group(m.Entries), m.Stacks))
			}
		}
	}
}

func designRow(d *Result) []string {
	hits := "-"
	if len(d.Maps) > 0 {
		hits = fmt.Sprintf("%.2f%%", 100*d.HitRate)
	}
	mark := ""
	if d.RetainedBasis == Extrapolated {
		mark = "~"
	}
	seconds := d.RetainedSeconds.String()
	if d.RetainedSeconds.Known() {
		seconds = mark + seconds
	}
	saving := fmt.Sprintf("%.1f%%", d.SavingPct)
	if least, most := d.SavingRange(); least < most {
		saving = fmt.Sprintf("%.0f…%.0f%%", least, most)
	}
	return []string{
		d.Name, Group(d.Bytes), fmt.Sprintf("%.2f", d.BytesPerEvent), saving,
		mark + Group(d.RetainedEvents), fmt.Sprintf("%.2fx", d.RetainedTimes), seconds,
		fmt.Sprintf("%.1f%%", d.Fidelity.WholePct), hits, Group(d.Drops), Group(d.Fallbacks),
	}
}

func (t *text) breakdown(r *Report) {
	t.section("Where the bytes lie", "replayed, from decoded pages")
	head := []string{""}
	rows := [][]string{
		{"page headers"},
		{"event headers"},
		{"common fields"},
		{"payload"},
		{"stack"},
		{"time extends"},
		{"padding"},
		{"page tails"},
		{"pages"},
		{"stack records"},
	}
	for i := range r.Designs {
		b := &r.Designs[i].Breakdown
		head = append(head, r.Designs[i].Name)
		for j, n := range []uint64{
			b.PageHeaders, b.EventHeaders, b.CommonFields, b.Payload, b.Stack,
			b.TimeExtends, b.Padding, b.PageTails, b.Pages, b.StackRecords,
		} {
			rows[j] = append(rows[j], Group(n))
		}
	}
	tab := newTable(head...)
	for _, row := range rows {
		tab.row(row...)
	}
	t.table(tab)
}

func (t *text) maps(r *Report) {
	some := false
	for i := range r.Designs {
		some = some || len(r.Designs[i].Maps) > 0
	}
	if !some {
		return
	}
	t.section("What the maps cost", "memory assumed: the kernel's structures at this size; net: saved less the maps' memory")
	tab := newTable("design", "map", "bits", "entries", "of", "table", "pool", "export")
	for i := range r.Designs {
		for _, m := range r.Designs[i].Maps {
			tab.row(r.Designs[i].Name, m.Stacks, fmt.Sprint(m.Bits), Group(m.Entries), Group(m.Capacity),
				binaryBytes(m.TableBytes), binaryBytes(m.PoolBytes), binaryBytes(m.ExportBytes))
		}
	}
	t.table(tab)
	tab = newTable("design", "saved in this trace", "net of the maps", "pays from", "net in a full buffer", "pays from")
	for i := range r.Designs {
		d := &r.Designs[i]
		if len(d.Maps) == 0 {
			continue
		}
		tab.row(d.Name, Bytes(d.Net.SavedBytes), Bytes(d.Net.NetBytes), orNever(d.Net.BreakEvenEvents, " events"),
			Bytes(d.Net.BufferNetBytes), orNever(d.Net.BreakEvenBufferKB, " KB/CPU"))
	}
	t.table(tab)
}

// sweeps shows what each size of the map would do, for kernel stacks and, if a design
// has a map for them, for user stacks.
func (t *text) sweeps(r *Report) {
	t.sweep("ftrace_stackmap.bits", "net over this trace", r.Sweep, r.Recommendation)
	for i := range r.Designs {
		for _, m := range r.Designs[i].Maps {
			if m.Stacks == userKind.String() {
				t.sweep("bits of a map for user stacks", "kernel stacks in full; net over this trace", r.UserSweep, m.Recommended)
				return
			}
		}
	}
}

func (t *text) sweep(title, how string, points []SweepPoint, recommended Recommendation) {
	t.section(title, "replayed; "+how)
	if len(points) == 0 {
		t.wrap("  ", "  ", sentence(recommended.Why)+".")
		return
	}
	tab := newTable("bits", "entries", "pool", "hits", "drops", "fallback", "B/event", "saving", "map", "net")
	for _, p := range points {
		name := fmt.Sprint(p.Bits)
		if p.Bits == recommended.Bits {
			name += " *"
		}
		tab.row(name, Group(p.Entries), fmt.Sprintf("%.1f%%", p.PoolPct), fmt.Sprintf("%.2f%%", 100*p.HitRate),
			Group(p.Drops), Group(p.Fallbacks), fmt.Sprintf("%.2f", p.BytesPerEvent), fmt.Sprintf("%.1f%%", p.SavingPct),
			binaryBytes(p.MapBytes), Bytes(p.NetBytes))
	}
	t.table(tab)
	t.wrap("  ", "  ", fmt.Sprintf("* recommended: bits=%d, the %s.", recommended.Bits, recommended.Why))
}

func (t *text) depths(r *Report) {
	if len(r.Depths) == 0 {
		return
	}
	t.section("Saving by depth of the stack", "replayed; bytes of a stack's record")
	tab := newTable("depth", "stacks", "full", "mapped", "saving", "of all saved")
	for _, d := range r.Depths {
		name := fmt.Sprint(d.Depth)
		if d.AndDeeper {
			name += "+"
		}
		tab.row(name, Group(d.Stacks), fmt.Sprintf("%.1f", d.FullBytes), fmt.Sprintf("%.1f", d.MappedBytes),
			fmt.Sprintf("%.1f%%", d.SavingPct), fmt.Sprintf("%.1f%%", d.ShareOfAll))
	}
	t.table(tab)
}

// growth shows at most ten points of a curve.
func (t *text) growth(title string, points []GrowthPoint) {
	if len(points) == 0 {
		return
	}
	t.section(title, "measured")
	tab := newTable("events", "stacks", "unique")
	for i := range points {
		if n := len(points); n > 10 && i != n-1 && i*10/n == (i+1)*10/n {
			continue
		}
		tab.row(Group(points[i].Events), Group(points[i].Stacks), Group(points[i].Unique))
	}
	t.table(tab)
}

// frameIndent is the indentation of a top stack's addresses.
const frameIndent = "                    "

func (t *text) top(r *Report) {
	if len(r.TopStacks) == 0 {
		return
	}
	t.section("Top stacks", "measured; outermost address last")
	for _, s := range r.TopStacks {
		t.line("  %5.1f%% %10s  %s, %d addresses, %s in full", s.SharePct, Group(s.Count), s.Kind, s.Depth, binaryBytes(s.Bytes))
		frames := strings.Join(s.Frames, " < ")
		if len(s.Frames) == 0 {
			frames = "(addresses not kept)"
		}
		t.wrap(frameIndent, frameIndent, frames)
	}
}

func (t *text) notes(caveats []string) {
	if len(caveats) == 0 {
		return
	}
	t.section("Bear in mind", "")
	for _, c := range caveats {
		t.wrap("  - ", "    ", c)
	}
}

// sentence makes the first letter a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func atLeast(set bool) string {
	if set {
		return "at least "
	}
	return ""
}

func orNever(n uint64, unit string) string {
	if n == 0 {
		return "never"
	}
	return Group(n) + unit
}
