package summary

import (
	"fmt"
	"io"

	"ftracelab/budget"
)

// What a row and a stack take in memory, with room for the lists to grow and, for
// stacks, for the sorted list beside the map.
const (
	machineCost = 2 * 384
	stackCost   = 128
)

// Merger adds summaries. Make one with [NewMerger].
type Merger struct {
	memory *budget.Budget
	limit  int // of len(stacks)

	machines []Machine
	cpus     []CPU
	sizes    map[uint64]uint64 // bytes → events
	level    uint
	stacks   map[uint64]Stack // by hash
}

// NewMerger makes a Merger that takes its memory from a budget; nil is a budget of the
// default size.
func NewMerger(memory *budget.Budget) *Merger {
	return &Merger{
		memory: budget.OrDefault(memory), limit: MaxStacks,
		sizes: make(map[uint64]uint64), stacks: make(map[uint64]Stack),
	}
}

// Read adds the summary in a file. An [*Error] says that the file is not one that can
// be added; the Merger is then as it was before. After any other error it must not be
// used any more.
func (m *Merger) Read(r io.Reader) error {
	part := decoder{memory: m.memory}
	defer func() { m.memory.Give(part.held) }()
	s, err := part.decode(r)
	if err != nil {
		return err
	}
	return m.Add(s)
}

// Add adds s, whose lists may have any order. It fails if there are too many machines,
// or too many for the budget; the Merger must then not be used any more.
func (m *Merger) Add(s *Summary) error {
	if n := len(m.machines) + len(s.Machines); n > MaxMachines {
		return fmt.Errorf("summary: %d machines are more than the %d that can be added", n, MaxMachines)
	}
	if err := m.memory.Take(machineCost*int64(len(s.Machines)), "the rows of the machines"); err != nil {
		return err
	}
	m.machines = append(m.machines, s.Machines...)
	for len(m.cpus) < len(s.CPUs) {
		m.cpus = append(m.cpus, CPU{})
	}
	for n, c := range s.CPUs {
		m.cpus[n].Machines += c.Machines
		m.cpus[n].Events += c.Events
		m.cpus[n].Micros += c.Micros
	}
	for _, size := range s.Sizes {
		m.sizes[size.Bytes] += size.Events
	}
	m.raise(s.Level)
	for _, st := range s.Stacks {
		if err := m.stack(st); err != nil {
			return err
		}
	}
	return nil
}

// stack adds the occurrences of a stack. If two stacks with the same hash differ in
// their depth, the deeper one stands for both.
func (m *Merger) stack(st Stack) error {
	if !sampled(st.Hash, m.level) {
		return nil
	}
	old, known := m.stacks[st.Hash]
	if !known {
		if err := m.memory.Take(stackCost, "the different stacks"); err != nil {
			return err
		}
	}
	m.stacks[st.Hash] = Stack{Hash: st.Hash, Depth: max(old.Depth, st.Depth), Count: old.Count + st.Count}
	for len(m.stacks) > m.limit {
		m.raise(m.level + 1)
	}
	return nil
}

// raise makes the sample of stacks smaller.
func (m *Merger) raise(level uint) {
	if level <= m.level {
		return
	}
	m.level = level
	for hash := range m.stacks {
		if !sampled(hash, level) {
			delete(m.stacks, hash)
			m.memory.Give(stackCost)
		}
	}
}

// sampled reports whether the sample of a level has the stack with that hash.
func sampled(hash uint64, level uint) bool { return hash>>(64-level) == 0 }

// Sum returns what was added so far. It shares the rows with the Merger, which must not
// be used any more.
func (m *Merger) Sum() *Summary {
	s := &Summary{Machines: m.machines, CPUs: m.cpus, Level: m.level}
	for bytes, events := range m.sizes {
		s.Sizes = append(s.Sizes, Size{bytes, events})
	}
	s.Stacks = make([]Stack, 0, len(m.stacks))
	for _, st := range m.stacks {
		s.Stacks = append(s.Stacks, st)
	}
	s.Sort()
	return s
}
