package summary

import (
	"cmp"
	"slices"

	"ftracelab/stackmap"
)

// Limits of a summary. A sum of three counts of MaxCount for each of [MaxMachines] fits
// into 64 bits, so neither a sum of summaries nor what is computed from it can overflow.
const (
	MaxCount    = 1 << 42 // of everything that one machine has: 4 TiB, or 50 days in microseconds
	MaxMachines = 1 << 20
	MaxStacks   = 1 << 18 // as many as the largest map holds
	MaxName     = 48      // bytes of the name of a machine
	MaxCPUs     = 1024
	MaxSize     = 1 << 20 // bytes of a record
	MaxDepth    = 1<<16 - 1
)

// Summary is what is kept of the captures of one machine or of many. That of a file and
// that of [Merger.Sum] are in the order of the file.
type Summary struct {
	Machines []Machine
	CPUs     []CPU // by number
	Sizes    []Size
	// Level is 0 if Stacks holds all stacks. Otherwise it holds those whose hashes
	// begin with that many zero bits, about one in 2^Level.
	Level  uint
	Stacks []Stack
}

// Sort puts the lists into the order of the file.
func (s *Summary) Sort() {
	slices.SortFunc(s.Machines, func(a, b Machine) int { return compare(&a, &b) })
	slices.SortFunc(s.Sizes, func(a, b Size) int { return cmp.Compare(a.Bytes, b.Bytes) })
	slices.SortFunc(s.Stacks, func(a, b Stack) int { return cmp.Compare(a.Hash, b.Hash) })
}

// Machine is the row of one capture.
type Machine struct {
	Name string

	Events        uint64 // events that are no stacks
	CPUs          uint64 // CPUs with events
	CPUless       uint64 // 1 if the capture names no CPUs, and all events count as one CPU's
	Conditional   uint64 // 1 if the figures are right only under a condition, which an estimate of the capture names
	Partial       uint64 // 1 if damaged parts of the capture were left out
	BusiestEvents uint64 // events of the CPU that has most
	Micros        uint64 // microseconds between the first and the last event, at most MaxCount; 0: not known
	Lost          uint64 // events that are known to be missing
	Losses        uint64 // places where events are missing
	Bare          uint64 // events whose record the capture did not have, so that its size is assumed
	KernelStacks  uint64
	UniqueStacks  uint64 // different kernel stacks
	Untold        uint64 // kernel stacks that could not be told apart, and that UniqueStacks leaves out
	UserStacks    uint64
	StackIDs      uint64 // ids of stacks that the capture did not have
	EventBytes    uint64 // the records of events, with time extends
	KernelBytes   uint64 // the records of kernel stacks, all in full
	UserBytes     uint64 // the records of user stacks, all in full
	Bits          uint64 // the recommended size of a stack map; 0: there are no kernel stacks

	Maps [Maps]Map
}

// Maps is the number of sizes that a stack map can have.
const Maps = stackmap.MaxBits - stackmap.MinBits + 1

// Map is what a stack map of one size would have made of a machine's kernel stacks. The
// first one has the fewest bits.
type Map struct {
	Bytes uint64 // the records of ids, and of the stacks that the map refused
	Drops uint64 // stacks for which it had no room
}

// Of returns what a map with that many bits would have made of the stacks.
func (m *Machine) Of(bits int) Map { return m.Maps[bits-stackmap.MinBits] }

// CPU counts what happened on the CPUs of one number.
type CPU struct {
	Machines uint64 // machines with events on it
	Events   uint64
	Micros   uint64 // what these machines were traced
}

// Size counts events by the bytes that their records take, headers included.
type Size struct{ Bytes, Events uint64 }

// Stack is a kernel stack, known by a hash of its addresses.
type Stack struct {
	Hash  uint64
	Depth uint64 // how many addresses it has
	Count uint64
}

// figures are the numbers of a row, in the order of the file.
func (m *Machine) figures() [19 + 2*Maps]*uint64 {
	f := [19 + 2*Maps]*uint64{
		&m.Events, &m.CPUs, &m.CPUless, &m.Conditional, &m.Partial, &m.BusiestEvents, &m.Micros, &m.Lost, &m.Losses, &m.Bare,
		&m.KernelStacks, &m.UniqueStacks, &m.Untold, &m.UserStacks, &m.StackIDs,
		&m.EventBytes, &m.KernelBytes, &m.UserBytes, &m.Bits,
	}
	for n := range m.Maps {
		f[19+2*n], f[20+2*n] = &m.Maps[n].Bytes, &m.Maps[n].Drops
	}
	return f
}

// compare orders rows by name, and those of one name by their figures.
func compare(a, b *Machine) int {
	if c := cmp.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	of := b.figures()
	for n, f := range a.figures() {
		if c := cmp.Compare(*f, *of[n]); c != 0 {
			return c
		}
	}
	return 0
}

// check says which figure of a row is impossible; empty: none is.
func (m *Machine) check() string {
	for _, f := range m.figures() {
		if *f > MaxCount {
			return "a figure that no capture can have"
		}
	}
	switch {
	case len(m.Name) > MaxName:
		return "a name that is too long"
	case m.CPUs > MaxCPUs:
		return "too many CPUs"
	case m.CPUless > 1, m.Conditional > 1, m.Partial > 1, m.BusiestEvents > m.Events, m.UniqueStacks > m.KernelStacks,
		m.Bits != 0 && (m.Bits < stackmap.MinBits || m.Bits > stackmap.MaxBits):
		return "figures that contradict each other"
	}
	return ""
}
