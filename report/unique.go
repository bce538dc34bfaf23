package report

import (
	"math/bits"

	"ftracelab/budget"
)

// maxUnique is how many unique stacks of one kind are remembered: as many as the
// largest map (bits 18) could hold, so that this map would refuse all further ones.
const maxUnique = 1 << 18

// How many addresses of unique stacks are kept. They are needed to ask the maps of the
// sweep, and to show the top stacks.
const (
	maxKernelFrames = 2 << 20
	maxUserFrames   = 1 << 19
)

// uniqueSet counts stacks by a 64-bit hash of their addresses. Stacks beyond maxUnique
// are counted but not told apart.
type uniqueSet struct {
	slots  []int32 // index+1 into stacks, 0: free; their number is a power of two
	stacks []uniqueStack
	frames []uint64 // the addresses of the stacks that have kept set

	limit, frameLimit int    // the limits of len(stacks) and len(frames)
	forgotten         uint64 // occurrences of stacks beyond limit
	forgottenWords    uint64 // how many addresses those had
	notKept           uint64 // stacks for whose addresses frames has no room

	memory *budget.Budget
	room   int64 // memory that was taken and is not used yet
	short  error // why limit was lowered; nil: it was not
}

// The memory that a stack takes, including the lists that are copied as they grow; the
// memory that each of its addresses takes, in the list of kept addresses and in the
// maps of the sweep, which get stand-ins for stacks that are not kept; and how much
// memory is asked for at a time.
const (
	uniqueCost     = 240
	sweptFrameCost = 10
	keptFrameCost  = 12
	uniqueStep     = 1 << 20
)

// hold reports whether there is memory for one more stack. If there is none, it sets
// limit to the present number.
func (u *uniqueSet) hold(depth int) bool {
	cost := uniqueCost + sweptFrameCost*int64(depth)
	if len(u.frames)+depth <= u.frameLimit {
		cost += keptFrameCost * int64(depth)
	}
	if u.room < cost {
		n := max(cost, uniqueStep)
		if u.short = u.memory.Take(n, "more unique stacks"); u.short != nil {
			u.limit = len(u.stacks)
			return false
		}
		u.room += n
	}
	u.room -= cost
	return true
}

// uniqueStack is one stack of a uniqueSet.
type uniqueStack struct {
	hash  uint64
	count uint64
	first int32  // the index of its first address in frames
	depth uint16 // cut at 65535
	kept  bool
}

func newUniqueSet(limit, frameLimit int, memory *budget.Budget) *uniqueSet {
	return &uniqueSet{slots: make([]int32, 1<<10), limit: limit, frameLimit: frameLimit, memory: memory}
}

// see counts one occurrence of ips.
func (u *uniqueSet) see(ips []uint64) {
	h := hashStack(ips)
	mask := uint64(len(u.slots) - 1)
	i := h & mask
	for u.slots[i] != 0 {
		s := &u.stacks[u.slots[i]-1]
		if s.hash == h {
			s.count++
			return
		}
		i = (i + 1) & mask
	}
	if len(u.stacks) >= u.limit || !u.hold(len(ips)) {
		u.forgotten++
		u.forgottenWords += uint64(len(ips))
		return
	}
	u.stacks = append(u.stacks, uniqueStack{hash: h, count: 1, depth: uint16(min(len(ips), 1<<16-1))})
	s := &u.stacks[len(u.stacks)-1]
	if len(u.frames)+len(ips) <= u.frameLimit {
		s.kept, s.first = true, int32(len(u.frames))
		u.frames = append(u.frames, ips...)
	} else {
		u.notKept++
	}
	u.slots[i] = int32(len(u.stacks))
	if 4*len(u.stacks) > 3*len(u.slots) {
		u.grow()
	}
}

// grow doubles the slots.
func (u *uniqueSet) grow() {
	u.slots = make([]int32, 2*len(u.slots))
	mask := uint64(len(u.slots) - 1)
	for n := range u.stacks {
		i := u.stacks[n].hash & mask
		for u.slots[i] != 0 {
			i = (i + 1) & mask
		}
		u.slots[i] = int32(n + 1)
	}
}

// len returns how many unique stacks were seen; least says that there may have been
// more, which could not be told apart.
func (u *uniqueSet) len() (n uint64, least bool) {
	return uint64(len(u.stacks)), u.forgotten > 0
}

// addresses returns the frames of s, the innermost first, up to depth; nil if they were
// not kept.
func (u *uniqueSet) addresses(s *uniqueStack) []uint64 {
	if !s.kept {
		return nil
	}
	return u.frames[s.first : int(s.first)+int(s.depth)]
}

// hashStack folds the addresses into 64 bits. It only tells stacks apart in the
// census; the maps use the kernel's hash.
func hashStack(ips []uint64) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03
	h := k0 ^ uint64(len(ips))
	for _, ip := range ips {
		hi, lo := bits.Mul64(h^ip, k1)
		h = hi ^ lo ^ bits.RotateLeft64(ip, 32)
	}
	hi, lo := bits.Mul64(h^k1, k0)
	return hi ^ lo
}
