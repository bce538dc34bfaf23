package report

import (
	"cmp"
	"slices"

	"ftracelab/report/summary"
	"ftracelab/stackmap"
)

// FleetWhatIf is what other buffers and maps would make of the machines.
type FleetWhatIf struct {
	BuffersKB []uint64    `json:"buffers_kb"` // of each CPU
	Sizes     []FleetSize `json:"sizes"`      // full stacks, and then a map of each size
}

// FleetSize is full stacks, or a map of some size, with any buffer. How far a buffer
// reaches back grows as its size does.
type FleetSize struct {
	Bits         int         `json:"bits"`           // 0: full stacks
	SecondsPerKB Percentiles `json:"seconds_per_kb"` // Count is 0 if no machine has times
	// Pays says for each of the BuffersKB on how many machines the map is worth more than
	// its memory.
	Pays []int `json:"pays"`
}

// The buffers that can be tried besides the one that was asked for, in KB.
const (
	leastBufferKB = 64
	mostBufferKB  = 1 << 20
)

// BuffersKB lists sizes of buffers to try, in ascending order, of which own is one.
func BuffersKB(own uint64) []uint64 {
	list := []uint64{own}
	for kb := uint64(leastBufferKB); kb <= mostBufferKB; kb *= 2 {
		list = append(list, kb)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (f *fleet) whatIf() FleetWhatIf {
	w := FleetWhatIf{BuffersKB: BuffersKB(uint64(f.opt.BufferSizeKB)), Sizes: []FleetSize{}}
	w.Sizes = append(w.Sizes, f.size(0, w.BuffersKB))
	if f.bits > 0 {
		for bits := stackmap.MinBits; bits <= stackmap.MaxBits; bits++ {
			w.Sizes = append(w.Sizes, f.size(bits, w.BuffersKB))
		}
	}
	return w
}

func (f *fleet) size(bits int, buffers []uint64) FleetSize {
	s := FleetSize{Bits: bits, Pays: make([]int, len(buffers))}
	var seconds []sample
	for n := range f.Machines {
		m := &f.Machines[n]
		if m.Events > 0 && m.Micros > 0 && (bits == 0 || m.KernelStacks > 0) {
			seconds = append(seconds, sample{value: f.seconds(m, with(m, bits)) / float64(f.opt.BufferSizeKB), count: 1})
		}
		if bits > 0 {
			s.pays(f, m, buffers)
		}
	}
	slices.SortFunc(seconds, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	s.SecondsPerKB = Percentiles{Basis: Extrapolated, What: "seconds back for each KB", Over: "machines"}
	if len(seconds) > 0 {
		s.SecondsPerKB = spread(Extrapolated, s.SecondsPerKB.What, s.SecondsPerKB.Over, seconds)
	}
	return s
}

// pays counts a machine at the buffers with which the map pays there.
func (s *FleetSize) pays(f *fleet, m *summary.Machine, buffers []uint64) {
	for i, kb := range buffers {
		if f.net(m, s.Bits, kb) > 0 {
			s.Pays[i]++
		}
	}
}
