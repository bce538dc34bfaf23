package machine

import "math/bits"

// order knows which CPU has the next step. It is a tournament: its leaves are the times
// at which the CPUs' next steps are due, and every node above them knows the CPU that wins
// below it. That is the one with the earlier time or, of two with the same time, the one
// with the lower number.
//
// A step changes the time of the CPU that makes it. For another CPU it seldom does, and
// then calls touch. So the next CPU is found with one comparison for each level.
type order struct {
	due   []Time // by CPU; never for those beyond the last CPU
	win   []int  // node n is above nodes 2n and 2n+1, node 1 above all; leaves have no node
	moved bool   // touch or touchAll has been called
	stale bool   // the times have to be asked again
}

func newOrder(cpus int) order {
	leaves := max(2, 1<<bits.Len(uint(cpus-1)))
	o := order{due: make([]Time, leaves), win: make([]int, leaves), stale: true}
	for i := range o.due {
		o.due[i] = never
	}
	for n := leaves - 1; n > 0; n-- {
		if o.win[n] = 2*n - leaves; 2*n < leaves {
			o.win[n] = o.win[2*n]
		}
	}
	return o
}

// first gives the CPU that has the next step, and when that is due.
func (o *order) first() (id int, due Time) {
	id = o.win[1]
	return id, o.due[id]
}

// rival is when the earliest step of the other CPUs is due.
func (o *order) rival() Time {
	id := o.win[1]
	due := o.due[id^1]
	for n := (id + len(o.due)) / 2; n > 1; n /= 2 {
		due = min(due, o.due[o.win[n^1]])
	}
	return due
}

// set notes that the next step of a CPU is due at that time.
func (o *order) set(id int, due Time) {
	if o.due[id] == due {
		return
	}
	o.due[id] = due
	left, right := id&^1, id|1
	for n := (id + len(o.due)) / 2; ; n /= 2 {
		// Nobody can predict who wins, so this must not become a branch.
		l, r, winner := o.due[left], o.due[right], left
		if r < l {
			winner = right
		}
		if o.win[n] = winner; n == 1 {
			return
		}
		left, right = o.win[n&^1], o.win[n|1]
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
