package report

import (
	"errors"
	"fmt"

	"ftracelab/tracer/record"
)

// Work counts what CPUs do to write the stacks of the trace in the way of a design. It is
// no time: how long an operation takes depends on the machine, and on what the other CPUs
// have in their caches.
//
// Words have 8 bytes. Loads, stores and atomic read-modify-writes are those of the map,
// which all CPUs share; the ring buffer of a CPU is its own and its are not counted.
// Collisions of all 32 bits of a hash, and CPUs that meet in a slot, are not either.
type Work struct {
	Basis   Basis  `json:"basis"`
	Counted bool   `json:"counted"` // false: the map is of a kind whose work is not known, and only Copied is
	Lookups uint64 `json:"lookups"` // stacks for which a map was asked
	Hashed  uint64 `json:"hashed"`  // words that went through the hash
	Probes  uint64 `json:"probes"`  // slots that were looked at
	// ProbeLengths says how many of the lookups looked at one slot, at two, at three, and so
	// on up to the longest.
	ProbeLengths []uint64 `json:"probe_lengths,omitempty"`
	// RMWs are the read-modify-writes: of the ref_count at a hit, of the key of a slot and
	// the number of elements at an insertion, and in v2 of a counter at both. Later
	// revisions have counters for each CPU.
	RMWs   uint64 `json:"rmws"`
	Loads  uint64 `json:"loads"`  // words: the flag of a reset, keys, and of a stack that is there its pointer, length and addresses
	Stores uint64 `json:"stores"` // words of stacks that are put in, and the pointers to them
	Copied uint64 `json:"copied"` // words of stacks and ids that were copied into the ring, and of stacks that were copied into the map
	// AtMost says that stacks were dropped: each of them counts with all the probes that
	// a map may make.
	AtMost bool `json:"at_most,omitempty"`
}

// countWork fills in the work of each design. Each map of the report is asked once for
// each unique stack; as slots are not given back, the others of its kind take the same way.
func (r *run) countWork(rep *Report) error {
	for i, w := range r.writers {
		d := &rep.Designs[i]
		d.Work = Work{Basis: Replayed, Counted: true, Copied: (d.Breakdown.Stack + 7) / 8}
		for _, m := range d.Maps {
			cfg, u := w.design.KernelMap, r.census.kernel
			if m.Stacks == userKind.String() {
				cfg, u = w.design.UserMap, r.census.user
			}
			if m.Bits == 0 {
				continue // it has no stacks
			}
			cfg.Bits = m.Bits
			if err := d.Work.add(cfg, u); err != nil {
				return fmt.Errorf("report: design %s: %w", d.Name, err)
			}
		}
	}
	return nil
}

// add adds the work of a map for the stacks of u.
func (k *Work) add(cfg record.MapConfig, u *uniqueSet) error {
	m, err := cfg.Open()
	if err != nil {
		return err
	}
	sm, ok := m.(record.Stackmap)
	if !ok {
		k.Counted = false
		return nil
	}
	c := lookupWork{Work: k, probes: uint64(sm.Config().Probes)}
	if !sm.Config().SaturateRefs { // v2
		c.counter = 1
	}
	standIns := standIns{cut: keepsFixed(m)}
	ids := make([]uint32, 0, len(u.stacks))
	asked := make([]*uniqueStack, 0, len(u.stacks))
	for i := range u.stacks {
		s := &u.stacks[i]
		ips := u.addresses(s)
		if !s.kept {
			ips = standIns.of(s)
		}
		switch id, err := sm.Intern(0, ips); {
		case err == nil:
			ids, asked = append(ids, id), append(asked, s)
		case errors.Is(err, record.ErrNoSpace):
			c.drop(uint64(s.depth), s.count)
		}
	}
	if u.forgotten > 0 {
		c.drop(u.forgottenWords/u.forgotten, u.forgotten)
	}
	slots := sm.Stats().TableSize
	way := make([]uint64, slots) // the probes that lead to a slot
	for s := range sm.Slots() {
		way[s.ID] = (uint64(s.ID)-uint64(s.Home))&(slots-1) + 1
	}
	put := make([]bool, slots)
	for i, s := range asked {
		hits, depth := s.count, min(uint64(s.depth), uint64(sm.Config().MaxDepth))
		if id := ids[i]; !put[id] {
			put[id] = true
			c.insert(way[id], depth)
			hits--
		}
		c.hit(way[ids[i]], depth, hits)
	}
	return nil
}

// lookupWork adds lookups of one map.
type lookupWork struct {
	*Work
	probes  uint64 // that are made for a stack at most
	counter uint64 // 1: the counters are shared
}

// look is what all lookups begin with.
func (c *lookupWork) look(probes, depth, times uint64) {
	c.Lookups += times
	c.Hashed += depth * times
	c.Probes += probes * times
	if times > 0 {
		for uint64(len(c.ProbeLengths)) < probes {
			c.ProbeLengths = append(c.ProbeLengths, 0)
		}
		c.ProbeLengths[probes-1] += times
	}
	c.Loads += (1 + probes) * times // the flag of a reset, the keys
	c.RMWs += c.counter * times
}

// hit counts stacks that were there.
func (c *lookupWork) hit(probes, depth, times uint64) {
	c.look(probes, depth, times)
	c.Loads += (2 + depth) * times // pointer, length, addresses
	c.RMWs += times                // ref_count
}

// insert counts a stack that was not.
func (c *lookupWork) insert(probes, depth uint64) {
	c.look(probes, depth, 1)
	c.Loads++             // the number of elements
	c.RMWs += 2           // the key, the number of elements
	c.Stores += 2 + depth // pointer, length with ref_count, addresses
	c.Copied += depth
}

// drop counts stacks for which there was no room.
func (c *lookupWork) drop(depth, times uint64) {
	c.look(c.probes, depth, times)
	c.Loads += times // the number of elements
	c.RMWs += times  // the key of a slot that stays empty
	c.AtMost = true
}
