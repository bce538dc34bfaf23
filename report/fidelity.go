package report

import (
	"slices"

	"ftracelab/tracer/record"
)

// Fidelity says how much of the trace's stacks a design keeps. A stack is whole if all
// of its addresses can be read afterwards from the trace and its maps.
type Fidelity struct {
	WholePct float64 `json:"whole_pct"`      // the share of the trace's stacks that are whole
	Cut      uint64  `json:"cut"`            // stacks that lost their outer addresses
	Missing  uint64  `json:"missing"`        // stacks that were not written at all
	Lost     uint64  `json:"lost"`           // stacks whose id stands for another stack at the end, or for none
	Merged   uint64  `json:"merged_stacks"`  // unique stacks that became one with another
	Within   uint64  `json:"merged_uniques"` // how many unique stacks those became
}

// fidelity counts what became of the stacks that w has written. It asks the maps once
// more for each unique stack, so the counters of the maps must be read before that.
func (w *writer) fidelity(c *census) Fidelity {
	f := Fidelity{Cut: w.stacks.Counts.UserCut}
	if w.design.Kernel == record.NoStacks {
		f.Missing += c.kernelStacks
	}
	if w.design.User == record.NoStacks {
		f.Missing += c.userStacks
	}
	f.Missing += w.counts.stackTooBig
	f.Lost = faults(w.stacks.KernelMap()).Lost + faults(w.stacks.UserMap()).Lost
	f.look(w.stacks.KernelMap(), c.kernel)
	f.look(w.stacks.UserMap(), c.user)
	all := c.kernelStacks + c.userStacks
	f.WholePct = pct(all-min(all, f.Cut+f.Missing+f.Lost), all)
	if all == 0 {
		f.WholePct = 100
	}
	return f
}

// faults returns what m counts about its ids.
func faults(m record.Interner) record.Faults {
	if m, ok := m.(record.Faulty); ok {
		return m.Faults()
	}
	return record.Faults{}
}

// look compares each unique stack with the stack that its id stands for. It
// skips stacks whose addresses the census did not keep.
func (f *Fidelity) look(m record.Interner, u *uniqueSet) {
	if m == nil {
		return
	}
	stacks := make(map[uint32]uint64) // how many stacks have each id
	var kept []uint64
	for i := range u.stacks {
		s := &u.stacks[i]
		ips := u.addresses(s)
		id, err := m.Intern(0, ips)
		if ips == nil || err != nil {
			continue
		}
		stacks[id]++
		if kept, _ = m.Stack(id, kept[:0]); !slices.Equal(kept, ips) {
			f.Cut += s.count
		}
	}
	for _, n := range stacks {
		if n > 1 {
			f.Merged += n
			f.Within++
		}
	}
}
