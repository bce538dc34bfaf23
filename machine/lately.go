package machine

// lately remembers the answers to two questions that come with every tracepoint, mostly
// about the same places: an answer is one load instead of a look into a map or a symbol
// table. An answer takes the place of another one. All are forgotten when there are other
// tracepoints or symbols.
type lately struct {
	points [latelySlots]pointAddr
	locks  [latelySlots]lockAnswer
}

const latelySlots = 1 << latelyBits

const latelyBits = 8

// pointAddr is the address of a tracepoint in a function.
type pointAddr struct {
	point Point
	addr  uint64
}

// lockAnswer says whether an address is in a lock function.
type lockAnswer struct {
	addr uint64
	is   bool
}

// latelySlot spreads addresses over the slots.
func latelySlot(addr uint64) uint64 { return addr * 0x9e3779b97f4a7c15 >> (64 - latelyBits) }

// pointAt gives the address of a tracepoint of the kernel; 0 if the function has none.
func (m *Machine) pointAt(p Point) uint64 {
	have := &m.lately.points[latelySlot(p.Func+uint64(p.Event))]
	if have.point != p {
		*have = pointAddr{p, m.kernel.Points[p]}
	}
	return have.addr
}

// inLock is Kallsyms.inLock.
func (m *Machine) inLock(addr uint64) bool {
	have := &m.lately.locks[latelySlot(addr)]
	if have.addr != addr {
		*have = lockAnswer{addr, m.kallsyms.inLock(addr)}
	}
	return have.is
}
