package report

import (
	"cmp"
	"fmt"
	"slices"

	"ftracelab/report/summary"
	"ftracelab/stackmap"
)

// Fleet is the answer for a summary, of one machine or of many, and field by field its
// JSON. Sizes are bytes, and percentages go from 0 to 100.
type Fleet struct {
	Input       FleetInput    `json:"input"`
	Settings    FleetSettings `json:"settings"`
	Answer      FleetAnswer   `json:"answer"`
	Designs     []FleetDesign `json:"designs"` // of all machines together
	Suits       []FleetSuit   `json:"suits"`   // the bits that suit 50, 90 and 99 % of the machines
	Sweep       []FleetBits   `json:"sweep"`   // the same map on every machine
	Percentiles []Percentiles `json:"percentiles"`
	Outliers    []Outlier     `json:"outliers"`
	Outlying    int           `json:"outlying"` // all outliers, of which Outliers are the farthest
	CPUs        []FleetCPU    `json:"cpus"`
	WhatIf      FleetWhatIf   `json:"what_if"`
	Caveats     []string      `json:"caveats"`
	Assumed     []string      `json:"assumed"` // those of the Caveats that not every summary has
}

// FleetInput says what the summary is about.
type FleetInput struct {
	Basis             Basis  `json:"basis"`
	Path              string `json:"path"`
	Machines          int    `json:"machines"`
	Events            uint64 `json:"events"`
	KernelStacks      uint64 `json:"kernel_stacks"`
	UserStacks        uint64 `json:"user_stacks"`
	StackIDs          uint64 `json:"stack_ids,omitempty"`
	UniqueStacks      uint64 `json:"unique_kernel_stacks"` // over all machines
	UniqueBasis       Basis  `json:"unique_basis"`         // measured, or extrapolated from a sample
	SampledOf         uint64 `json:"sampled_of"`           // one of so many stacks is in the sample; 1: all are
	Lost              uint64 `json:"lost"`                 // events that are known to be missing
	MachinesWithLoss  int    `json:"machines_with_loss"`
	MachinesWithStack int    `json:"machines_with_kernel_stacks"`
}

// FleetSettings are the settings with which the answer was made.
type FleetSettings struct {
	BufferSizeKB int `json:"buffer_size_kb"` // per CPU
	Bits         int `json:"bits"`           // of the map on every machine; 0: as suits 99 %
}

// FleetAnswer is the short answer.
type FleetAnswer struct {
	Bits      int     `json:"bits"` // 0: no map is worth having
	SavingPct float64 `json:"saving_percent"`
	Times     float64 `json:"retained_times"` // extrapolated
	MapBytes  uint64  `json:"map_bytes"`      // on each machine
	Pays      int     `json:"pays"`           // machines on which the map pays
	Sentence  string  `json:"sentence"`
}

// FleetDesign is what a design would have made of the records of all machines.
type FleetDesign struct {
	Basis         Basis   `json:"basis"`
	Name          string  `json:"name"`
	Bytes         uint64  `json:"bytes"` // records and stacks, without page headers and tails
	BytesPerEvent float64 `json:"bytes_per_event"`
	SavingPct     float64 `json:"saving_pct"`
	Times         float64 `json:"retained_times"` // events in the same room, as a multiple of full-stacks
	Drops         uint64  `json:"drops"`
	MapBytes      uint64  `json:"map_bytes"` // on all machines
}

// FleetSuit is the smallest map that is as large as is recommended for a share of the
// machines that have kernel stacks.
type FleetSuit struct {
	Pct  int `json:"percent_of_machines"`
	Bits int `json:"bits"`
}

// FleetBits is a map of one size on every machine.
type FleetBits struct {
	Basis         Basis   `json:"basis"`
	Bits          int     `json:"bits"`
	SuitsPct      float64 `json:"suits_pct"` // of the machines with kernel stacks
	Dropping      int     `json:"dropping"`  // machines on which it had no room for some stacks
	Drops         uint64  `json:"drops"`
	BytesPerEvent float64 `json:"bytes_per_event"`
	SavingPct     float64 `json:"saving_pct"`
	MapBytes      uint64  `json:"map_bytes"` // on each machine
	Pays          int     `json:"pays"`      // machines on which it is worth more than its memory, in a full buffer
}

// FleetCPU counts what happened on the CPUs of one number.
type FleetCPU struct {
	CPU       int     `json:"cpu"`
	Machines  uint64  `json:"machines"`
	Events    uint64  `json:"events"`
	PerSecond float64 `json:"events_per_second"` // on each of the machines; 0: there are no times
}

// FleetOptions say what to answer.
type FleetOptions struct {
	Path         string // for FleetInput
	BufferSizeKB int    // per CPU; 0 means 1408
	Bits         int    // of the map on every machine; 0: as suits 99 % of them
}

// EstimateFleet answers from a summary what [Estimate] answers from a capture.
func EstimateFleet(s *summary.Summary, opt FleetOptions) *Fleet {
	opt.BufferSizeKB = cmp.Or(opt.BufferSizeKB, 1408)
	f := &fleet{Summary: s, opt: opt}
	f.add()
	rep := &Fleet{
		Input:    f.input(),
		Settings: FleetSettings{opt.BufferSizeKB, opt.Bits},
		Designs:  []FleetDesign{}, Suits: []FleetSuit{}, Sweep: []FleetBits{}, CPUs: []FleetCPU{},
	}
	if n := len(f.recommended); n > 0 {
		for _, p := range []int{50, 90, 99} {
			rep.Suits = append(rep.Suits, FleetSuit{p, int(f.recommended[rank(p, n)])})
		}
		f.bits = cmp.Or(opt.Bits, rep.Suits[2].Bits)
		for bits := stackmap.MinBits; bits <= stackmap.MaxBits; bits++ {
			rep.Sweep = append(rep.Sweep, f.sweep(bits))
		}
	}
	rep.Designs = f.designs()
	for n, c := range s.CPUs {
		if c.Machines > 0 {
			rep.CPUs = append(rep.CPUs, FleetCPU{n, c.Machines, c.Events, round4(perSecond(c.Events, c.Micros))})
		}
	}
	rep.Percentiles = f.percentiles()
	rep.Outliers, rep.Outlying = f.outliers()
	rep.WhatIf = f.whatIf()
	rep.Assumed = f.assumed()
	rep.Caveats = append(f.limits(), rep.Assumed...)
	rep.Answer = f.answer(rep)
	return rep
}

// fleet is one EstimateFleet.
type fleet struct {
	*summary.Summary
	opt FleetOptions

	sum         summary.Machine // of all rows
	mapped      [summary.Maps]uint64
	recommended []uint64 // of the machines with kernel stacks, ascending
	lossy       int      // machines that lost events
	bits        int      // of the map of the answer; 0: no machine has kernel stacks
}

func (f *fleet) add() {
	for n := range f.Machines {
		m := &f.Machines[n]
		for _, p := range []struct {
			to   *uint64
			from uint64
		}{
			{&f.sum.Events, m.Events},
			{&f.sum.CPUless, m.CPUless},
			{&f.sum.Conditional, m.Conditional},
			{&f.sum.Partial, m.Partial},
			{&f.sum.Lost, m.Lost},
			{&f.sum.Bare, m.Bare},
			{&f.sum.KernelStacks, m.KernelStacks},
			{&f.sum.Untold, m.Untold},
			{&f.sum.UserStacks, m.UserStacks},
			{&f.sum.StackIDs, m.StackIDs},
			{&f.sum.EventBytes, m.EventBytes},
			{&f.sum.KernelBytes, m.KernelBytes},
			{&f.sum.UserBytes, m.UserBytes},
		} {
			*p.to += p.from
		}
		for i := range m.Maps {
			f.mapped[i] += full(m) - m.KernelBytes + m.Maps[i].Bytes
			f.sum.Maps[i].Drops += m.Maps[i].Drops
		}
		if m.Losses > 0 {
			f.lossy++
		}
		if m.Bits > 0 {
			f.recommended = append(f.recommended, m.Bits)
		}
	}
	slices.Sort(f.recommended)
}

// full is what the records of a machine take with full stacks.
func full(m *summary.Machine) uint64 { return m.EventBytes + m.KernelBytes + m.UserBytes }

// with is what they take with a map of so many bits; with 0, as with full stacks.
func with(m *summary.Machine, bits int) uint64 {
	if bits == 0 {
		return full(m)
	}
	return full(m) - m.KernelBytes + m.Of(bits).Bytes
}

// gain is what a map is worth on a machine, in bytes for each KB of a CPU's buffer that is
// full: the room that full stacks would need for the events in it, less that KB. It pays if
// it is worth more than its memory.
func gain(m *summary.Machine, bits int) float64 {
	return (times(full(m), with(m, bits)) - 1) * 1024 * float64(m.CPUs)
}

// seconds is how far the buffer of the busiest CPU reaches back.
func (f *fleet) seconds(m *summary.Machine, bytes uint64) float64 {
	rate := perSecond(m.BusiestEvents, m.Micros) * float64(bytes) / float64(max(1, m.Events))
	if rate == 0 {
		return 0
	}
	return float64(f.opt.BufferSizeKB) * 1024 / rate
}

func (f *fleet) input() FleetInput {
	in := FleetInput{
		Basis: Measured, Path: f.opt.Path, Machines: len(f.Machines), Events: f.sum.Events,
		KernelStacks: f.sum.KernelStacks, UserStacks: f.sum.UserStacks, StackIDs: f.sum.StackIDs,
		UniqueStacks: uint64(len(f.Stacks)), UniqueBasis: Measured, SampledOf: 1,
		Lost: f.sum.Lost, MachinesWithLoss: f.lossy, MachinesWithStack: len(f.recommended),
	}
	if f.Level > 0 {
		in.UniqueBasis = Extrapolated
		in.SampledOf <<= min(f.Level, 40) // a sample of one stack in 2^40 is an empty one
		in.UniqueStacks *= in.SampledOf
	}
	return in
}

func (f *fleet) designs() []FleetDesign {
	all := full(&f.sum)
	row := func(name string, bytes uint64) FleetDesign {
		return FleetDesign{
			Basis: Replayed, Name: name, Bytes: bytes, BytesPerEvent: ratio(bytes, f.sum.Events),
			SavingPct: savingPct(all, bytes), Times: round4(times(all, bytes)),
		}
	}
	ds := []FleetDesign{row("full-stacks", all)}
	if f.bits > 0 {
		d := row(fmt.Sprintf("stackmap:bits=%d", f.bits), f.mapped[f.bits-stackmap.MinBits])
		d.Drops = f.sum.Of(f.bits).Drops
		d.MapBytes = mapMemory(f.bits) * uint64(len(f.Machines))
		ds = append(ds, d)
	}
	return append(ds, row("no-stacks", f.sum.EventBytes))
}

func (f *fleet) sweep(bits int) FleetBits {
	bytes := f.mapped[bits-stackmap.MinBits]
	b := FleetBits{
		Basis: Replayed, Bits: bits, SuitsPct: recommendedFor(f.recommended, bits), Drops: f.sum.Of(bits).Drops,
		BytesPerEvent: ratio(bytes, f.sum.Events), SavingPct: savingPct(full(&f.sum), bytes), MapBytes: mapMemory(bits),
	}
	for n := range f.Machines {
		if f.Machines[n].Of(bits).Drops > 0 {
			b.Dropping++
		}
		if gain(&f.Machines[n], bits)*float64(f.opt.BufferSizeKB) > float64(b.MapBytes) {
			b.Pays++
		}
	}
	return b
}

func (f *fleet) answer(rep *Fleet) FleetAnswer {
	machines := plural(len(f.Machines), "machine")
	switch {
	case f.sum.Events == 0:
		return FleetAnswer{Times: 1, Sentence: "The summary is of captures without events."}
	case f.bits == 0 && f.sum.StackIDs > 0:
		return FleetAnswer{Times: 1, Sentence: "The kernel stacks are in maps that were not read: no design can be compared with another."}
	case f.bits == 0:
		return FleetAnswer{Times: 1, Sentence: fmt.Sprintf("There are no kernel stacks on %s, so a stackmap has nothing to save.", machines)}
	}
	d := rep.Designs[1]
	if d.SavingPct <= 0 {
		return FleetAnswer{Times: 1, Sentence: "A stackmap saves nothing here: its ids take as many bytes as the stacks."}
	}
	of := rep.Sweep[f.bits-stackmap.MinBits]
	a := FleetAnswer{Bits: f.bits, SavingPct: d.SavingPct, Times: d.Times, MapBytes: of.MapBytes, Pays: of.Pays}
	if len(f.Machines) == 1 {
		worth := "more"
		if a.Pays == 0 {
			worth = "no more"
		}
		a.Sentence = fmt.Sprintf("With stackmap at bits=%d an event takes %s less, and the same buffer holds about %.2f times the events. "+
			"The map costs %s and is worth %s than that in a buffer of %s KB on %s.", a.Bits, percent(a.SavingPct), a.Times,
			binaryBytes(a.MapBytes), worth, Group(uint64(f.opt.BufferSizeKB)), plural(int(f.Machines[0].CPUs), "CPU"))
		return a
	}
	a.Sentence = fmt.Sprintf("With stackmap at bits=%d on %s, which is enough for %s of those with kernel stacks, an event takes %s less, "+
		"and the same buffers hold about %.2f times the events. The map costs %s on each machine and is worth more than that on %s of them in a buffer of %s KB per CPU.",
		a.Bits, machines, percent(of.SuitsPct), percent(a.SavingPct), a.Times, binaryBytes(a.MapBytes), Group(uint64(a.Pays)), Group(uint64(f.opt.BufferSizeKB)))
	return a
}

// recommendedFor gives the share of machines, in percent, for which a map of these bits
// is large enough, by their recommended bits in ascending order.
func recommendedFor(sorted []uint64, bits int) float64 {
	n, _ := slices.BinarySearch(sorted, uint64(bits)+1)
	return pct(uint64(n), uint64(len(sorted)))
}

// mapMemory is what a documented map takes in a kernel.
func mapMemory(bits int) uint64 {
	cfg := stackmap.Documented()
	cfg.Bits = bits
	table, pool, _ := cfg.Memory()
	return uint64(table) + uint64(pool)
}

// times is how many times as many events fit into the same room.
func times(full, bytes uint64) float64 {
	if bytes == 0 {
		return 1
	}
	return float64(full) / float64(bytes)
}

func perSecond(events, micros uint64) float64 {
	if micros == 0 {
		return 0
	}
	return float64(events) / float64(micros) * 1e6
}
