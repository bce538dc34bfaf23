package report

import (
	"fmt"

	"ftracelab/tracer/record"
)

// caveats lists what a reader of the figures must know: first the caveats of
// the caller and of the source, then those of the estimate itself.
func (r *run) caveats(rep *Report) []string {
	c := r.census
	out := append([]string{}, r.opt.Caveats...)
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	if c.events == 0 {
		note("the trace holds no events")
		return out
	}
	if c.kernelStacks == 0 && c.userStacks == 0 && c.stackIDs == 0 {
		note("the trace holds no stacks: options/stacktrace (of the function tracer func_stack_trace) was off, or its events record none")
	}
	if c.losses > 0 {
		note("events are missing from the trace in %d places (%d known to be lost): they are in no figure", c.losses, c.lost)
	}
	if c.backwards > 0 {
		note("%d events have a time before that of an event ahead of them on their CPU; they were written with its time", c.backwards)
	}
	if c.bare > 0 {
		note("%d events came without a binary record and were written as %d bytes of common fields: their size is assumed", c.bare, 8)
	}
	if c.kernel.forgotten > 0 || c.kernel.notKept > 0 {
		note("there are too many unique kernel stacks to keep all: of %d only a hash is known, and %d events have one beyond those counted, which the sweep over bits counts as refused",
			c.kernel.notKept, c.kernel.forgotten)
	}
	for _, u := range []*uniqueSet{c.kernel, c.user} {
		if u.short != nil && u.forgotten > 0 {
			note("after %d unique stacks no others are told apart: %v", len(u.stacks), u.short)
		}
	}
	switch {
	case c.kernelStacks <= c.events:
	case c.losses > 0:
		note("there are more kernel stacks than events: the loss of events has separated some from theirs")
	default:
		note("there are more kernel stacks than events: some came without one, as those of stacktrace triggers do")
	}
	r.designCaveats(rep, note)
	rep.Verification.caveat(note)
	if n := len(rep.Growth); n > 4 {
		quarter := rep.Growth[n-1-n/4]
		if last := rep.Growth[n-1]; float64(last.Unique) > 1.1*float64(quarter.Unique) {
			note("unique stacks still grow: %d after %d stacks, %d at the end; a longer trace needs more of the map",
				quarter.Unique, quarter.Stacks, last.Unique)
		}
	}
	return out
}

// designCaveats notes the assumptions behind a design's figures.
func (r *run) designCaveats(rep *Report, note func(string, ...any)) {
	extrapolated := false
	userDesign := false
	for i := range rep.Designs {
		d, w := &rep.Designs[i], r.writers[i]
		extrapolated = extrapolated || d.RetainedBasis == Extrapolated
		userDesign = userDesign || w.design.User == record.StackID || w.design.User == record.DeferredStack
		if d.TooBig > 0 {
			note("%s: %d records are larger than a sub-buffer and were not written, as a kernel would not", d.Name, d.TooBig)
		}
		if d.CutUserStacks > 0 {
			note("%s: %d user stacks lost addresses; a design that keeps them all is compared with less", d.Name, d.CutUserStacks)
		}
		if w.design.User == record.StackID {
			note("%s: a map for user stacks is no kernel's yet; assumed is one keyed by addresses alone, with a stack_id record of 12 bytes", d.Name)
		}
		if w.design.Kernel == record.CodedStack {
			note("%s: no kernel has a record for coded stacks; assumed is one of 12 bytes and the addresses that a stack does not share with the last one of its context on the sub-buffer", d.Name)
		}
		if u := d.Deferred; u != nil {
			note("%s: cookie and stack records as proposed for ftrace; a stack has 20 bytes for each address", d.Name)
			if u.Tied+u.Cut > 0 {
				note("%s", u.doubt(d.Name))
			}
		}
	}
	if extrapolated {
		note("the trace does not fill a buffer of %d KB per CPU in every design: what is retained is extrapolated from the mean events per page", rep.Settings.BufferSizeKB)
	}
	if r.census.userStacks > 0 && !userDesign {
		note("the trace has user stacks, but no design that treats them differently was compared")
	}
}

// doubt says between which bounds a design's bytes lie, and why they are not known.
func (u *DeferredUse) doubt(name string) string {
	s := name + ": "
	if u.Tied > 0 {
		s += fmt.Sprintf("the trace only tells that it takes from %.1f to %.1f bytes per event, which saves from %.1f to %.1f %%: "+
			"%s events have the same user stack as the task's event before them, so each may belong to the same stay in the kernel, as is counted here, or begin another "+
			"(raw_syscalls and exceptions:page_fault_user in the trace tell most of them apart)",
			u.LeastBytesPerEvent, u.MostBytesPerEvent, u.LeastSavingPct, u.MostSavingPct, Group(u.Tied))
	}
	if u.Cut > 0 {
		if u.Tied > 0 {
			s += "; "
		}
		s += fmt.Sprintf("%s events have a user stack of %d addresses, where ftrace cuts them; deferred ones are whole, "+
			"which takes up to %.1f bytes per event more for each further address (perf script shows all addresses)",
			Group(u.Cut), inlineUserFrames, u.CutBytesPerEvent)
	}
	return s
}
