package fprobe

import "slices"

// Sizes of the two tables, as log2 of the number of buckets.
//
// Kernel: FPROBE_IP_HASH_BITS and FPROBE_HASH_BITS, kernel/trace/fprobe.c of 6.14.
const (
	byAddressBits = 8
	byProbeBits   = 6
)

func bucket(key uint64, bits int) int { return int(key * 0x61c8864680b583eb >> (64 - bits)) }

// node is one function of a probe.
//
// Kernel: struct fprobe_hlist_node of 6.14.
type node struct {
	fn    uint64
	probe *Probe
}

// tables find the probes of a function, and whether a probe still exists.
//
// Kernel: fprobe_ip_table and fprobe_table, kernel/trace/fprobe.c of 6.14.
type tables struct {
	byAddress [1 << byAddressBits][]node
	byProbe   [1 << byProbeBits][]*Probe
}

// insert puts a node in front of those of the same function, so that these stay
// neighbours, or in front of its bucket. It reports whether the function is new.
//
// Kernel: insert_fprobe_node.
func (t *tables) insert(n node) bool {
	b := &t.byAddress[bucket(n.fn, byAddressBits)]
	at := slices.IndexFunc(*b, func(have node) bool { return have.fn == n.fn })
	*b = slices.Insert(slices.Clone(*b), max(at, 0), n) // a walk under way keeps the old list
	return at < 0
}

// remove takes a node out and reports whether it was the last one of its function.
//
// Kernel: delete_fprobe_node.
func (t *tables) remove(n node) bool {
	b := &t.byAddress[bucket(n.fn, byAddressBits)]
	*b = slices.DeleteFunc(slices.Clone(*b), func(have node) bool { return have == n })
	return len(t.at(n.fn)) == 0
}

// at gives the nodes of a function.
func (t *tables) at(fn uint64) []node {
	b := t.byAddress[bucket(fn, byAddressBits)]
	first := slices.IndexFunc(b, func(n node) bool { return n.fn == fn })
	if first < 0 {
		return nil
	}
	end := first
	for end < len(b) && b[end].fn == fn {
		end++
	}
	return b[first:end]
}

func (t *tables) add(p *Probe) {
	b := &t.byProbe[bucket(p.addr, byProbeBits)]
	*b = slices.Insert(slices.Clone(*b), 0, p)
}

func (t *tables) drop(p *Probe) {
	b := &t.byProbe[bucket(p.addr, byProbeBits)]
	*b = slices.DeleteFunc(slices.Clone(*b), func(have *Probe) bool { return have == p })
}

// find gives the registered probe at an address; nil if there is none.
//
// Kernel: is_fprobe_still_exist.
func (t *tables) find(addr uint64) *Probe {
	for _, p := range t.byProbe[bucket(addr, byProbeBits)] {
		if p.addr == addr {
			return p
		}
	}
	return nil
}

// Entry is a line of one of the two tables: a probe in its bucket, with the function that
// it is on in the table by address, and 0 in the table by probe.
type Entry struct {
	Bucket int
	Func   uint64
	Addr   uint64 // of the probe
	Probe  *Probe
}

// ByAddress yields the table by address, of the probes on the shadow stack.
func (s *Set) ByAddress(yield func(Entry) bool) {
	for b, nodes := range s.graph.byAddress {
		for _, n := range nodes {
			if !yield(Entry{b, n.fn, n.probe.addr, n.probe}) {
				return
			}
		}
	}
}

// ByProbe yields the table by probe, of the probes on the shadow stack.
func (s *Set) ByProbe(yield func(Entry) bool) {
	for b, probes := range s.graph.byProbe {
		for _, p := range probes {
			if !yield(Entry{b, 0, p.addr, p}) {
				return
			}
		}
	}
}
