package report

import (
	"cmp"
	"fmt"

	"ftracelab/tracer/record"
)

// standing says whether there is a kernel that records stacks as d does, and what a
// kernel needs for that. It looks at what the design does, not at its name.
//
// A design exists if Linux 6.12 records in this way, or with the posted stackmap
// patches, which were built and measured. All other designs only answer the question:
// what if?
func standing(d record.Design) (exists bool, needs string) {
	exists = true
	if d.Kernel == record.StackID {
		needs = "the stackmap patches (posted as an RFC, not merged)"
		if odd := unposted(d.KernelMap); odd != "" {
			exists, needs = false, needs+", changed: "+odd
		}
	}
	and := func(what string) {
		if needs != "" {
			what = needs + ", and " + what
		}
		exists, needs = false, what
	}
	if d.Kernel == record.CodedStack {
		and("a record for stacks that are coded as what they share with the one before (nobody has posted one)")
	}
	switch d.User {
	case record.StackID:
		and("a map for user stacks, with a record of its own for their ids (nobody has posted one)")
	case record.DeferredStack:
		and("deferred user stacks in ftrace (posted, not merged; Linux 6.17 and later have the unwinder alone)")
	}
	if d.Ring != nil {
		and("a ring buffer of another kind")
	}
	return exists, needs
}

// unposted names the first setting of a map that no posted revision has.
func unposted(c record.MapConfig) string {
	posted := record.Documented()
	switch {
	case c.New != nil && c.Preset != "":
		return "a map of another kind, " + c.Preset
	case c.New != nil:
		return "a map of another kind"
	case c.PerInstance:
		return "a map for each instance"
	case c.Pool != posted.Pool:
		return fmt.Sprintf("a pool that is %v", c.Pool)
	case c.Hash != posted.Hash:
		return fmt.Sprintf("hash %v", c.Hash)
	case cmp.Or(c.Probes, posted.Probes) != posted.Probes:
		return fmt.Sprintf("%d probes", c.Probes)
	case cmp.Or(c.MaxDepth, posted.MaxDepth) != posted.MaxDepth:
		return fmt.Sprintf("stacks of up to %d addresses", c.MaxDepth)
	}
	return ""
}

// why explains a design that takes more than the base; empty for all others.
func (r *run) why(d, base *Result) string {
	if d.SavingPct >= 0 {
		return ""
	}
	c := r.census
	if u := d.Deferred; u != nil && c.userStacks > 0 {
		return fmt.Sprintf("%s takes more, not less: %s of %s user stacks are the first of their stay in the kernel, "+
			"so %s shared; each is written with all its addresses (%.1f on average) at %d bytes apiece and a cookie of %d bytes beside it, "+
			"where user_stack keeps at most %d addresses in %d bytes",
			d.Name, Group(u.Stays), Group(c.userStacks), shared(u.Stays, c.userStacks),
			ratio(c.userWords, c.userStacks), unwindFrameBytes, cookieBytes, inlineUserFrames, userStackBytes)
	}
	return fmt.Sprintf("%s takes more, not less: its stack records take %s where those of %s take %s",
		d.Name, Bytes(int64(d.Breakdown.StackRecordBytes)), base.Name, Bytes(int64(base.Breakdown.StackRecordBytes)))
}

// shared says in words how many of the stacks were not written again.
func shared(stays, stacks uint64) string {
	switch rest := stacks - min(stays, stacks); {
	case rest == 0:
		return "none is"
	case 10*rest < stacks:
		return fmt.Sprintf("only %.1f %% are", pct(rest, stacks))
	}
	return fmt.Sprintf("%.1f %% are", pct(stacks-min(stays, stacks), stacks))
}
