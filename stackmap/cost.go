package stackmap

import (
	"fmt"
	"slices"
)

// Cost says how much of a kernel's memory a map takes, in bytes, and how much
// of that is in use.
type Cost struct {
	Entries, Capacity uint64 // stacks that it holds, and that it can hold
	Slots             uint64 // places in which it looks for them
	Table, Pool       uint64 // bytes of the places and of the stacks
	Export            uint64 // bytes more while it is exported
}

// Pool says how a kernel gets the memory for the stacks of a map. It decides
// what the map costs, not what it does.
//
// Departure: for the pools that grow, a kernel would have to add pages ahead of
// need, because it cannot allocate in the recording path; until the pages are
// there, it would drop stacks. Here the pages are always there in time.
type Pool uint8

// The ways to get memory for stacks.
const (
	// EagerPool is the kernel's: all elements exist from the start, with room for
	// MaxDepth addresses each.
	EagerPool Pool = iota
	// LazyPool reserves addresses for the same elements, and takes a page of memory
	// when the first stack is stored in it.
	LazyPool
	// PackedPool is lazy, too, and an element has room for its own addresses only.
	PackedPool
)

// String is the name as a flag spells it.
func (p Pool) String() string {
	switch p {
	case EagerPool:
		return "eager"
	case LazyPool:
		return "lazy"
	case PackedPool:
		return "packed"
	}
	return fmt.Sprintf("pool(%d)", uint8(p))
}

// Complete returns c with its defaults filled in. The error names a field with
// which no map can be built, and wraps ErrInvalid.
func (c Config) Complete() (Config, error) {
	c = c.withDefaults()
	return c, c.validate()
}

// Key is the hash of a stack, never 0. The fields of c decide it as they are,
// without defaults.
func (c *Config) Key(ips []uint64) uint32 { return c.key(ips) }

// Cost is what a map of this configuration takes that holds so many stacks with
// so many addresses together.
func (c Config) Cost(entries, words uint64) Cost {
	c = c.withDefaults()
	table, pool, export := c.Memory()
	cost := Cost{
		Entries: entries, Capacity: uint64(c.capacity()), Slots: uint64(c.slots()),
		Table: uint64(table), Pool: uint64(pool), Export: uint64(export),
	}
	switch c.Pool {
	case LazyPool:
		cost.Pool = AreaSize(entries * uint64(elementSize+8*c.MaxDepth))
	case PackedPool:
		cost.Pool = AreaSize(elementSize*entries + 8*words)
	}
	return cost
}

// AreaSize is what n bytes of vmalloc take: whole pages, and a guard page.
func AreaSize(n uint64) uint64 { return (n+pageSize-1)/pageSize*pageSize + pageSize }

// Cost is what a kernel spends on the map as it is now.
func (m *Map) Cost() Cost {
	var words uint64
	if m.cfg.Pool == PackedPool {
		for s := range m.Slots() {
			words += uint64(len(s.IPs))
		}
	}
	return m.cfg.Cost(m.Stats().Entries, words)
}

// Duplicates counts the stacks that are in the maps a second time, under
// another id or in another of the maps.
func Duplicates(maps ...*Map) (n uint64) {
	var all [][]uint64
	for _, m := range maps {
		for s := range m.Slots() {
			if s.IPs != nil {
				all = append(all, s.IPs)
			}
		}
	}
	slices.SortFunc(all, slices.Compare)
	for at := 1; at < len(all); at++ {
		if slices.Equal(all[at-1], all[at]) {
			n++
		}
	}
	return n
}
