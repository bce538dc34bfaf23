package machine

import "math/bits"

// order knows which CPU has the next step. It is a tournament: its leaves are the keys of
// the CPUs, and every node above them has the lower one of the two keys below it. The
// lowest key of all belongs to the CPU whose step is due first or, of two with the same
// time, to the one with the lower number.
//
// A step changes the time of the CPU that makes it. For another CPU it seldom does, and
// then calls touch. So the next CPU is found with one comparison for each level.
type order struct {
	keys  []uint64 // node n is above nodes 2n and 2n+1, node 1 above all; the second half are the leaves
	moved bool     // touch or touchAll has been called
	stale bool     // the times have to be asked again
}

// A key is the time at which the next step of a CPU is due, and behind it the number of
// the CPU. Times from latest on, and never, are kept as latest.
const (
	numberBits = 8
	latest     = never >> numberBits
)

// numberBits is enough for every CPU.
const _ = uint(1<<numberBits - MaxCPUs)

func newOrder(cpus int) order {
	leaves := max(2, 1<<bits.Len(uint(cpus-1)))
	o := order{keys: make([]uint64, 2*leaves), stale: true}
	for n := range o.keys {
		o.keys[n] = never // higher than the key of any CPU
	}
	return o
}

// leaf is the node of a CPU.
func (o *order) leaf(id int) uint { return uint(len(o.keys)/2 + id) }

// time is the time in a key.
func (o *order) time(key uint64) Time {
	if at := key >> numberBits; at < latest {
		return at
	}
	return never
}

// first gives the CPU that has the next step, and when that is due.
func (o *order) first() (id int, due Time) {
	key := o.keys[1]
	return int(key & (1<<numberBits - 1)), o.time(key)
}

// rival is when the earliest step of the other CPUs is due.
func (o *order) rival() Time {
	id, _ := o.first()
	keys, lowest := o.keys, never
	for n := o.leaf(id); n > 1; n /= 2 {
		lowest = min(lowest, keys[n^1])
	}
	return o.time(lowest)
}

// set notes that the next step of a CPU is due at that time.
func (o *order) set(id int, due Time) {
	keys, key := o.keys, min(due, latest)<<numberBits|uint64(id)
	n := o.leaf(id)
	if keys[n] == key {
		return
	}
	for ; n > 0; n /= 2 {
		keys[n] = key
		key = min(key, keys[n^1])
	}
}

// touch has to be called when something changes the time of c's next step, unless c
// itself executes a step.
func (c *CPU) touch() {
	o := &c.m.order
	if o.moved = true; !o.stale {
		o.set(c.ID, c.due())
	}
}

// touchAll is touch for all CPUs.
func (m *Machine) touchAll() { m.order.stale, m.order.moved = true, true }

// refresh asks all CPUs when their next steps are due.
func (m *Machine) refresh() {
	m.order.stale = false
	for _, c := range m.cpus {
		m.order.set(c.ID, c.due())
	}
}
