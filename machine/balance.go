package machine

import "slices"

// Tasks of the fair class that wait for a CPU move to another one in three cases: that CPU
// has nothing to run any more, it compares its load with that of others from time to time,
// or the task is new.
//
// Departure: the kernel weighs loads, capacities and caches. Here, only tasks are counted,
// and a task stays where it is for a while after it ran. Real-time and deadline tasks that
// wait are never moved.

// hot is how long a task that was switched out stays where it is, because the caches of that
// CPU still have what it works with.
//
// Kernel: sysctl_sched_migration_cost, kernel/sched/fair.c.
const hot = 500 * Microsecond

// balanceInterval is how often a CPU compares its load with that of the others: what
// get_sd_balance_interval gives a busy CPU of two.
const balanceInterval = 28 * Millisecond

// balanceIdle pulls a task that waits for another CPU, because nothing waits for c, which is
// about to switch. It is reported on the way to the switch.
//
// Kernel: sched_balance_newidle, kernel/sched/fair.c.
func (c *CPU) balanceIdle() {
	if len(c.rq) == 0 && c.presence == present && c.m.kernel.Balance {
		if from := c.busiest(); from != nil {
			c.pull(from)
			c.pulled = from
		}
	}
}

// reportPulled reports the task that balanceIdle pulled, if that has not been reported yet.
func (c *CPU) reportPulled() {
	if c.pulled != nil {
		c.reportMigrate(c.picked.Next, c.pulled, c)
		c.pulled = nil
	}
}

// Unbalanced reports whether c should pull tasks from another CPU, which the next
// EvSchedMigrate in its code does. It is asked at each tick, and compares loads from time to
// time. If the other CPU has one task more, it says so every other time.
//
// Kernel: sched_balance_trigger and sched_balance_domains, kernel/sched/fair.c.
func (c *CPU) Unbalanced() bool {
	if c.m.now < c.balanceAt || c.presence != present || !c.m.kernel.Balance {
		return false
	}
	from := c.busiest()
	if from == nil {
		return false
	}
	c.balanceAt = c.m.now + balanceInterval
	more := from.load() - c.load()
	c.uneven = more == 1 && !c.uneven
	return more > 0 && !c.uneven
}

// performMigrate reports the task that was pulled. In a softirq, it pulls tasks.
//
// Kernel: detach_tasks, kernel/sched/fair.c.
func (c *CPU) performMigrate(*Task, *activation, *Op) {
	if c.pulled != nil {
		c.reportPulled()
		return
	}
	from := c.busiest()
	if from == nil {
		return
	}
	for n := (from.load() - c.load() + 1) / 2; n > 0 && from.movable(c) >= 0; n-- {
		i := from.movable(c)
		c.reportMigrate(from.rq[i], from, c)
		c.pull(from)
	}
}

// busiest is the CPU with the largest load of those that have a task that may move to c; nil:
// there is none.
func (c *CPU) busiest() (from *CPU) {
	for _, o := range c.m.cpus {
		if o != c && (from == nil || o.load() > from.load()) && o.movable(c) >= 0 {
			from = o
		}
	}
	return from
}

// movable is the place of a task in the run queue of c that may move to dst; -1: there is
// none.
//
// Kernel: can_migrate_task, kernel/sched/fair.c.
func (c *CPU) movable(dst *CPU) int {
	return slices.IndexFunc(c.rq, func(t *Task) bool {
		return t.class() == fairClass && !t.bound && !t.leaving && (t.allowed == nil || t.allowed == dst) && (t.out == 0 || c.m.now >= t.out+hot)
	})
}

// pull moves a task that waits for from to c.
//
// Kernel: detach_task and attach_task, kernel/sched/fair.c.
func (c *CPU) pull(from *CPU) {
	i := from.movable(c)
	t := from.rq[i]
	from.rq = slices.Delete(from.rq, i, i+1)
	c.enqueue(t)
}

// load is how many tasks run on c or wait for it.
func (c *CPU) load() int {
	n := len(c.rq)
	if c.Current != c.idle {
		n++
	}
	return n
}

// calmest is the CPU on which a new task begins: c, or one with a smaller load.
//
// Kernel: sched_balance_find_dst_cpu, kernel/sched/fair.c.
func (c *CPU) calmest(t *Task) *CPU {
	if t.class() != fairClass || t.bound || t.allowed != nil || !c.m.kernel.Balance {
		return c
	}
	for _, o := range c.m.cpus {
		if o.presence == present && o.load() < c.load() {
			c = o
		}
	}
	return c
}

// reportMigrate reports that t moves.
func (c *CPU) reportMigrate(t *Task, from, to *CPU) {
	if c.on(EvSchedMigrate) {
		c.args.migrate = SchedMigrate{Task: t, OrigCPU: from.ID, DstCPU: to.ID}
		c.report(EvSchedMigrate, &c.args.migrate)
	}
}
