package report

import "fmt"

// limits says what no summary can tell.
func (f *fleet) limits() []string {
	return []string{
		"a summary holds no records: it cannot tell which addresses a stack has, how the number of stacks grew, what a map of user stacks or another design would save, nor compare pages with those of the kernel; estimate on a capture does",
		"what the buffers hold is extrapolated from the mean bytes of an event, without the tails of pages; estimate on a capture counts it",
		"stacks are told apart by their addresses: the same stack counts once for each address that kernels were loaded at, so stacks of different machines are seldom the same (maps are not affected, each machine has its own)",
	}
}

// assumed says what the captures of this summary lacked.
func (f *fleet) assumed() []string {
	out := []string{}
	note := func(n uint64, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	s := &f.sum
	note(uint64(f.lossy), "events are missing on %s (%s known to be lost): they are in no figure", plural(f.lossy, "machine"), Group(s.Lost))
	note(s.Bare, "%s events came without a binary record and were written as %d bytes of common fields: their size is assumed", Group(s.Bare), bareBytes)
	note(s.CPUless, "%s of the captures name no CPUs: each of them counts as one CPU's", Group(s.CPUless))
	note(s.Conditional, "%s of the captures are right only under a condition, which estimate on the capture names", Group(s.Conditional))
	note(s.Partial, "of %s of the captures damaged parts were left out", Group(s.Partial))
	untimed, full := 0, 0
	repeated, last := 0, ""
	for n := range f.Machines {
		m := &f.Machines[n]
		if m.Events > 0 && m.Micros == 0 {
			untimed++
		}
		if m.Maps[len(m.Maps)-1].Drops > 0 {
			full++
		}
		if n > 0 && m.Name == last {
			repeated++
		}
		last = m.Name
	}
	note(uint64(untimed), "%s of the captures have no times: they are in no rate", Group(uint64(untimed)))
	note(uint64(full), "on %s even the largest map has no room for all stacks", plural(full, "machine"))
	note(s.Untold, "%s kernel stacks could not be told apart when their summaries were made; all maps count them as refused", Group(s.Untold))
	note(s.StackIDs, "%s stack ids are those of maps that were not read: they are in no design", Group(s.StackIDs))
	note(uint64(repeated), "%s of the captures have the name of another one: if they are the same capture, they count twice", Group(uint64(repeated)))
	note(uint64(f.Level), "there were too many different stacks to keep all: the depths are those of a sample of one in %s", Group(f.input().SampledOf))
	return out
}
