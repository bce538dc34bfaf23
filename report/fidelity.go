package report

import (
	"ftracelab/stackmap"
	"ftracelab/tracer"
)

// Fidelity says what of the trace's stacks a design keeps. A stack is whole if all
// of its addresses can be read from the trace, with its maps, afterwards.
type Fidelity struct {
	WholePct float64 `json:"whole_pct"`      // of the trace's stacks
	Cut      uint64  `json:"cut"`            // stacks that lost their outer addresses
	Missing  uint64  `json:"missing"`        // stacks that were not written at all
	Merged   uint64  `json:"merged_stacks"`  // unique stacks that became one with another
	Within   uint64  `json:"merged_uniques"` // unique stacks that those became
}

// fidelity counts what became of the stacks offered to w.
func (w *writer) fidelity(c *census) Fidelity {
	n := &w.stacks.Counts
	f := Fidelity{Cut: n.UserCut + w.counts.kernelCut + w.counts.userCut}
	if w.design.Kernel == tracer.NoStacks {
		f.Missing += c.kernelStacks
	}
	if w.design.User == tracer.NoStacks {
		f.Missing += c.userStacks
	}
	f.Missing += w.counts.stackTooBig
	f.merge(w.stacks.KernelMap(), c.kernel)
	f.merge(w.stacks.UserMap(), c.user)
	all := c.kernelStacks + c.userStacks
	f.WholePct = pct(all-min(all, f.Cut+f.Missing), all)
	if all == 0 {
		f.WholePct = 100
	}
	return f
}

// merge counts the unique stacks that a map which cuts cannot tell apart. Those
// whose addresses the census did not keep are not looked at.
func (f *Fidelity) merge(m *stackmap.Map, u *uniqueSet) {
	if m == nil || !m.Config().TruncateDeep {
		return
	}
	depth := m.Config().MaxDepth
	stacks := make(map[uint64]uint64) // by what is left of them: how many are
	for i := range u.stacks {
		if ips := u.addresses(&u.stacks[i]); len(ips) >= depth {
			stacks[hashStack(ips[:depth])]++
		}
	}
	for _, n := range stacks {
		if n > 1 {
			f.Merged += n
			f.Within++
		}
	}
}
