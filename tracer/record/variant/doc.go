// Package variant has other maps of stacks than the one that was posted: what if
// the kernel placed stacks in another way, gave out other ids, had a map for each
// CPU, or forgot stacks that nobody uses? docs/variants.md compares them.
//
//	map       where a stack goes             its id             when there is no room
//	Table     linear, set or Robin Hood      slot or number     refuses the stack
//	BPF       one bucket, by hash            bucket             refuses, or replaces the other
//	Aging     linear                         slot, generation   forgets the least recently used
//	PerCPU    a stackmap for each CPU        CPU, slot          refuses the stack
//
// Each takes a [stackmap.Config] and has the methods of record.Interner, which any
// number of goroutines may call. Finding a stack that is there takes no lock and
// does not allocate. Storing one takes a lock in Table and Aging, so that no stack
// is there twice; in the kernel that would be a raw spinlock, which an NMI may only
// try, recording the stack in full if the lock is taken.
package variant

import "ftracelab/stackmap"

// Faults counts what a map does to stacks beside refusing them.
type Faults struct {
	Duplicates uint64 // stacks that it holds a second time, so that they have two ids
	Replaced   uint64 // stacks that it gave up for others
	// Lost is how many of the ids that were given out stand for another stack now, or for
	// none. It is exact while no Intern runs.
	Lost uint64
}

// admit returns the addresses of a stack that a map of this configuration stores.
// The errors are those of [stackmap.Map.GetID].
func admit(c *stackmap.Config, ips []uint64) ([]uint64, error) {
	switch {
	case len(ips) == 0:
		return nil, stackmap.ErrInvalid
	case len(ips) <= c.MaxDepth:
		return ips, nil
	case c.TruncateDeep:
		return ips[:c.MaxDepth], nil
	}
	return nil, stackmap.ErrTooDeep
}

// slotBits is the length of a slot's number: there are twice as many slots as stacks.
func slotBits(c *stackmap.Config) uint { return uint(c.Bits) + 1 }

// idBits is the length of an id. The field of the record is a signed int, and a
// reader should not see negative numbers.
const idBits = 31
