package report

import (
	"fmt"
	"strings"
)

// Answer is the short answer to the question of [Estimate]: what would a design that
// exists save, and is its map worth its memory? It holds a sentence and the figures in
// it.
type Answer struct {
	Design        string  `json:"design"` // the existing design that saves most; the base if none saves anything
	Bits          int     `json:"bits"`   // the bits of its map; 0: it has no map
	SavingPct     float64 `json:"saving_percent"`
	RetainedTimes float64 `json:"retained_times"` // how many times as many events as with the base the same buffer holds
	Drops         uint64  `json:"drops"`          // stacks that the map had no room for
	WholePct      float64 `json:"whole_percent"`  // the share of stacks that keep all their addresses
	MapBytes      uint64  `json:"map_bytes"`
	// MapNetBytes is what the map is worth with a full buffer: the room that the base
	// would need for the retained events, less the size of the buffer and that of the
	// map.
	MapNetBytes int64 `json:"map_net_bytes"`
	// Pays says that MapNetBytes is positive: without the map, a buffer that is larger
	// by the map's memory would retain fewer events.
	Pays bool `json:"pays"`
	// PaysFromBufferKB is the buffer size per CPU from which on the map pays, 0 if
	// it never does.
	PaysFromBufferKB uint64 `json:"pays_from_buffer_kb"`
	// If is the condition under which all of this is true; empty: there is none.
	If       string `json:"if,omitempty"`
	Saving   string `json:"saving"`  // in words: what is saved
	Verdict  string `json:"verdict"` // in words: whether to boot with such a map
	WhatIf   string `json:"what_if,omitempty"`
	Sentence string `json:"sentence"` // all of the words
}

// answer draws the conclusion from a report in which everything else is complete.
func answer(r *Report, condition string) Answer {
	best := r.best(func(d *Result) bool { return d.Exists })
	a := Answer{Design: r.Designs[0].Name, RetainedTimes: 1, WholePct: r.Designs[0].Fidelity.WholePct, If: condition}
	if best == nil {
		a.Saving, a.Verdict = nothingSaved(r), "Leave the boot line as it is."
		if r.Input.onlyIDs() {
			a.Verdict = "Give its stack_map_bin or stack_map with it."
		}
	} else {
		a.Design, a.SavingPct, a.RetainedTimes = best.Name, best.SavingPct, best.RetainedTimes
		a.Drops, a.WholePct = best.Drops, best.Fidelity.WholePct
		a.MapBytes, a.MapNetBytes = best.MapBytes, best.Net.BufferNetBytes
		a.Pays, a.PaysFromBufferKB = best.Net.BufferNetBytes > 0, best.Net.BreakEvenBufferKB
		for _, m := range best.Maps {
			a.Bits = m.Bits
		}
		a.words(r, best)
	}
	if !r.Input.onlyIDs() {
		a.WhatIf = whatIf(r, a.SavingPct)
	}
	a.join()
	return a
}

// best returns, of the designs that ok accepts and that record stacks, the one with the
// fewest bytes per event; it is nil if none of them saves anything. Ids that nobody can
// look up do not count: they are in the records of every design.
func (r *Report) best(ok func(*Result) bool) *Result {
	var best *Result
	for i := range r.Designs {
		d := &r.Designs[i]
		if ok(d) && d.Breakdown.StackRecords > r.Input.StackIDs && d.SavingPct > 0 && (best == nil || d.BytesPerEvent < best.BytesPerEvent) {
			best = d
		}
	}
	return best
}

// nothingSaved says why no design that exists saves anything.
func nothingSaved(r *Report) string {
	in := &r.Input
	mapped := false
	for i := range r.Designs {
		mapped = mapped || r.Designs[i].Exists && len(r.Designs[i].Maps) > 0
	}
	switch {
	case in.Events == 0:
		return "The capture holds no events."
	case in.onlyIDs():
		return "The kernel stacks of this capture are in the map of the kernel that recorded it, and that map was not read: no design can be compared with another."
	case in.Stacks == 0:
		return "The capture holds no stacks, so there is nothing to save."
	case !mapped:
		return "Of the designs that were compared, none that exists saves anything."
	case in.KernelStacks == 0:
		return "A stackmap saves nothing here: it holds kernel stacks, and the capture has stacks of user space only."
	}
	return "A stackmap saves nothing here: its ids take as many bytes as the stacks."
}

// words puts into words what the design d saves and whether its map pays.
func (a *Answer) words(r *Report, d *Result) {
	with := a.Design
	if a.Bits > 0 {
		with = fmt.Sprintf("%s at bits=%d", with, a.Bits)
	}
	a.Saving = fmt.Sprintf("With %s an event takes %s less, and the same buffer holds %.2f times the events.",
		with, percent(a.SavingPct), a.RetainedTimes)
	if a.Drops > 0 {
		a.Saving += fmt.Sprintf(" For %s of %s stacks the map has no room: they are written in full.", Group(a.Drops), Group(r.Input.KernelStacks))
	}
	if lost := d.Fidelity.Cut; lost > r.Designs[0].Fidelity.Cut {
		a.Saving += fmt.Sprintf(" %s stacks lose addresses.", Group(lost))
	}
	if a.Bits == 0 {
		a.Verdict = "It needs no map."
		return
	}
	buffer := fmt.Sprintf("a buffer of %s KB on %s", Group(uint64(r.Settings.BufferSizeKB)), plural(len(d.RetainedCPUs), "CPU"))
	if r.Input.CPUless {
		buffer += " (the capture names none)"
	}
	costs := fmt.Sprintf("The map costs %s", binaryBytes(a.MapBytes))
	asked := ""
	if recommended := d.Maps[0].Recommended; recommended.Bits != a.Bits {
		asked = fmt.Sprintf(" bits=%d was asked for; recommended is bits=%d.", a.Bits, recommended.Bits)
	}
	switch {
	case a.Pays:
		a.Verdict = fmt.Sprintf("%s and is worth %s more than that in %s: on a kernel with the patches, boot with ftrace_stackmap.bits=%d.%s",
			costs, binaryBytes(uint64(a.MapNetBytes)), buffer, a.Bits, asked)
	case a.PaysFromBufferKB > 0:
		a.Verdict = fmt.Sprintf("%s, %s more than it is worth in %s: it does not pay here; it would from %s KB per CPU.%s",
			costs, binaryBytes(uint64(-a.MapNetBytes)), buffer, Group(a.PaysFromBufferKB), asked)
	default:
		a.Verdict = fmt.Sprintf("%s and keeps no more events in %s: it does not pay in a buffer of any size.%s", costs, buffer, asked)
	}
	if times := r.Designs[0].RetainedEvents / max(1, r.Input.Events); times >= farFetched {
		a.Verdict += fmt.Sprintf(" This is told from %s, and the buffer would hold %s times as many: a longer trace says more.",
			plural(int(r.Input.Events), "event"), Group(times))
	}
}

// farFetched is how many times the events of the trace have to go into the buffer before the
// answer says that it rests on few.
const farFetched = 20

// whatIf names the design that would save most of those that do not exist, if it saves
// more than the existing ones.
func whatIf(r *Report, saving float64) string {
	d := r.best(func(d *Result) bool { return !d.Exists })
	if d == nil || d.SavingPct <= saving {
		return ""
	}
	saves := percent(d.SavingPct)
	if least, most := d.SavingRange(); least < most {
		saves = "at most " + percent(most)
	}
	text := fmt.Sprintf("What if? With %s it would be %s less, but that needs %s.", d.Name, saves, d.Needs)
	if d.Fidelity.Lost > 0 {
		text += fmt.Sprintf(" At the end it has lost %s stacks.", Group(d.Fidelity.Lost))
	}
	return text
}

// join makes the sentence from the parts.
func (a *Answer) join() {
	parts := []string{a.Saving, a.Verdict}
	if a.If != "" {
		parts[0] = "If " + a.If + ": " + strings.ToLower(a.Saving[:1]) + a.Saving[1:]
	}
	a.Sentence = strings.Join(parts, " ")
	if a.WhatIf != "" {
		a.Sentence += " " + a.WhatIf
	}
}

func percent(p float64) string { return fmt.Sprintf("%.1f %%", p) }

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
