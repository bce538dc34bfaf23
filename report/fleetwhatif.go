package report

import (
	"slices"

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
	memory := 0.0
	if bits > 0 {
		memory = float64(mapMemory(bits))
	}
	var seconds []float64
	for n := range f.Machines {
		m := &f.Machines[n]
		if m.Events > 0 && m.Micros > 0 && (bits == 0 || m.KernelStacks > 0) {
			seconds = append(seconds, f.seconds(m, with(m, bits))/float64(f.opt.BufferSizeKB))
		}
		if bits == 0 {
			continue
		}
		gain := gain(m, bits)
		for i, kb := range buffers {
			if gain*float64(kb) > memory {
				s.Pays[i]++
			}
		}
	}
	slices.Sort(seconds)
	s.SecondsPerKB = Percentiles{Basis: Extrapolated, What: "seconds back for each KB", Over: "machines"}
	if len(seconds) > 0 {
		all := make([]sample, len(seconds))
		for i, v := range seconds {
			all[i] = sample{value: v, count: 1}
		}
		s.SecondsPerKB = spread(Extrapolated, s.SecondsPerKB.What, s.SecondsPerKB.Over, all)
	}
	return s
}
