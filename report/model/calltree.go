package model

// callTree holds the frames of stacks, each with all its callers, by a hash of them. Put
// together from the root on, stacks are such a tree: a flame graph has one box for each.
type callTree map[uint64]struct{}

// treeStacks is from how many of the first different stacks a model learns what stacks
// share. It bounds the tree.
const treeStacks = 1 << 14

// frameCost is the memory that one more frame of the tree takes.
const frameCost = 40

// add puts a stack into the tree. own is how many of its frames were not there.
func (t callTree) add(ips []uint64) (own int) {
	h := uint64(0)
	for n := len(ips) - 1; n >= 0; n-- {
		h = mix(h ^ ips[n])
		if _, known := t[h]; !known {
			t[h] = struct{}{}
			own++
		}
	}
	return own
}

// family says which callers drawn stacks share. A stack has its last frames for itself.
// Those before them are its parent's, a stack that appeared earlier; its parent has some
// of them from a parent of its own.
type family struct {
	own  weights // of the rows
	rows []Pair
	salt uint64
	kin  []kin // of the learned stacks
}

type kin struct {
	parent uint64
	shared uint16 // frames, from the root on, that are the parent's
}

// newFamily prepares the stacks whose numbers of frames are depths. Without rows, as
// models of the first version have none, each stack has all of its frames for itself.
func newFamily(rows []Pair, depths []uint16, salt uint64) *family {
	f := &family{rows: rows, salt: salt}
	for _, r := range rows {
		f.own.add(r[1])
	}
	for id := range depths {
		f.kin = append(f.kin, f.relate(uint64(id), depths[:id], depths[id]))
	}
	return f
}

// Which random numbers of a stack are for what.
const (
	forOwn = iota
	forParent
)

// parents is how many stacks are asked whether they are deep enough for a parent.
const parents = 8

// relate chooses the parent of a stack among those that have depths.
func (f *family) relate(id uint64, depths []uint16, depth uint16) (k kin) {
	if len(f.rows) == 0 || len(depths) == 0 || depth == 0 {
		return kin{}
	}
	seed := mix(f.salt ^ mix(id))
	own := f.rows[f.own.at(mix(seed+forOwn)%f.own.sum())][0]
	want := depth - uint16(min(max(own, 1), uint64(depth)))
	for n := range uint64(parents) {
		parent := mix(seed+forParent+n) % uint64(len(depths))
		if shared := min(want, depths[parent]); n == 0 || shared > k.shared {
			k = kin{parent, shared}
		}
		if k.shared == want {
			break
		}
	}
	return k
}

// append appends the addresses of a stack, the leaf's first.
func (f *family) append(dst []uint64, base, id uint64, depths []uint16, depth uint16) []uint64 {
	k := kin{}
	if id < uint64(len(f.kin)) {
		k = f.kin[id]
	} else {
		k = f.relate(id, depths, depth)
	}
	seed := mix(f.salt + id)
	for at := depth; at > 0; at-- {
		for at <= k.shared {
			seed = mix(f.salt + k.parent)
			k = f.kin[k.parent]
		}
		dst = append(dst, base|mix(seed+uint64(at))>>18)
	}
	return dst
}
