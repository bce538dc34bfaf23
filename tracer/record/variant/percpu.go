package variant

import (
	"fmt"
	"sync/atomic"

	"ftracelab/stackmap"
)

// PerCPU is a stackmap for each CPU that records a stack. CPUs share no memory, so
// they never meet; a stack that several of them record is in each of their maps, and
// has another id in each.
//
// The slot is the lower Bits+1 bits of the 31 bits of an id, the CPU the rest.
type PerCPU struct {
	cfg  stackmap.Config
	slot uint // bits of a slot's number
	// maps: each is stored once, by the first Intern of its CPU (compare and swap from
	// nil), loaded by all. It publishes an empty map.
	maps []atomic.Pointer[stackmap.Map]
}

// maxCPUs bounds the CPUs of a machine.
//
// Kernel: NR_CPUS_RANGE_END of x86-64.
const maxCPUs = 8192

// NewPerCPU returns maps of 2^bits stacks each. The error names what is wrong with c.
func NewPerCPU(c stackmap.Config) (*PerCPU, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	n := slotBits(&c)
	return &PerCPU{cfg: c, slot: n, maps: make([]atomic.Pointer[stackmap.Map], min(maxCPUs, 1<<(idBits-n)))}, nil
}

// Intern returns the id that ips has on this CPU. The errors are those of
// [stackmap.Map.GetID]; ErrInvalid also if the CPU has no place in an id.
func (m *PerCPU) Intern(cpu int, ips []uint64) (uint32, error) {
	if cpu < 0 || cpu >= len(m.maps) {
		return 0, fmt.Errorf("cpu %d: ids are for CPUs 0…%d: %w", cpu, len(m.maps)-1, stackmap.ErrInvalid)
	}
	own := m.maps[cpu].Load()
	if own == nil {
		made, err := stackmap.New(m.cfg)
		if err != nil {
			return 0, err
		}
		m.maps[cpu].CompareAndSwap(nil, made)
		own = m.maps[cpu].Load()
	}
	id, err := own.GetID(0, ips)
	if err != nil {
		return 0, err
	}
	return uint32(cpu)<<m.slot | id, nil
}

// Stack appends the addresses of id to dst; it returns false if no stack has this id.
func (m *PerCPU) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	cpu := id >> m.slot
	if int64(cpu) >= int64(len(m.maps)) {
		return dst, false
	}
	return m.maps[cpu].Load().Stack(id&(1<<m.slot-1), dst)
}

// used returns the maps that there are.
func (m *PerCPU) used() (maps []*stackmap.Map) {
	for cpu := range m.maps {
		if own := m.maps[cpu].Load(); own != nil {
			maps = append(maps, own)
		}
	}
	return maps
}

// Cost is what a kernel would spend on the maps of the CPUs that recorded a stack.
func (m *PerCPU) Cost() (sum stackmap.Cost) {
	for _, own := range m.used() {
		c := own.Cost()
		sum.Entries += c.Entries
		sum.Capacity += c.Capacity
		sum.Slots += c.Slots
		sum.Table += c.Table
		sum.Pool += c.Pool
		sum.Export += c.Export
	}
	return sum
}

// Faults counts the stacks that are in more than one map.
func (m *PerCPU) Faults() Faults { return Faults{Duplicates: stackmap.Duplicates(m.used()...)} }
