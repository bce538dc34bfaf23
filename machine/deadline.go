package machine

import (
	"fmt"
	"syscall"
)

// DeadlineParams are the parameters of a task of the deadline class, in ns. In every
// Period the task may run for Runtime, and gets that time before Deadline has passed
// since the beginning of the period.
type DeadlineParams struct{ Runtime, Deadline, Period Time }

// budget is what a deadline task has left in its period; it works as a constant
// bandwidth server. Of all deadline tasks, the one with the earliest deadline runs.
//
// Kernel: struct sched_dl_entity, include/linux/sched.h.
type budget struct {
	DeadlineParams
	at        Time  // the deadline
	left      int64 // how much of Runtime is left until then
	throttled bool  // the task has used up its budget, and a timer will give it a new one
	ready     bool  // the task could run if it were not throttled
}

// The limits of a period.
//
// Kernel: sysctl_sched_dl_period_min and _max, kernel/sched/deadline.c.
const (
	minPeriod  = 100 * Microsecond
	maxPeriod  = 1 << 22 * Microsecond
	minRuntime = 1 << 10 // 2^DL_SCALE
)

// check gives EINVAL for parameters that make no sense.
//
// Kernel: __checkparam_dl, kernel/sched/deadline.c.
func (p *DeadlineParams) check() error {
	if p.Period == 0 {
		p.Period = p.Deadline
	}
	if p.Deadline == 0 || p.Runtime < minRuntime || p.Runtime > p.Deadline || p.Deadline > p.Period || p.Period < minPeriod || p.Period > maxPeriod {
		return fmt.Errorf("runtime %d, deadline %d, period %d: %w", p.Runtime, p.Deadline, p.Period, syscall.EINVAL)
	}
	return nil
}

// bandwidth is the share of a CPU that they take, in units of 1/2^20.
//
// Kernel: to_ratio, kernel/sched/core.c.
func (p *DeadlineParams) bandwidth() uint64 {
	if p.Period == 0 {
		return 0
	}
	return p.Runtime << 20 / p.Period
}

// admit gives EBUSY if all deadline tasks except t, together with one with the
// parameters p, would take more than 95 % of the CPUs. On each CPU, the fair server has
// 5 % of these.
//
// Kernel: sched_dl_overflow; fair_server_init, kernel/sched/deadline.c.
func (m *Machine) admit(t *Task, p *DeadlineParams) error {
	cpus := uint64(m.OnlineCPUs())
	total := p.bandwidth() + cpus*(1<<20/20)
	for _, o := range m.tasks {
		if o != t && o.DeadlineTask() {
			total += o.budget.bandwidth()
		}
	}
	if total > cpus*(95<<20/100) {
		return fmt.Errorf("deadline tasks would have too much of %d CPUs: %w", cpus, syscall.EBUSY)
	}
	return nil
}

// newPeriod begins a new period now.
//
// Kernel: replenish_dl_new_period.
func (b *budget) newPeriod(now Time) { b.at, b.left = now+b.Deadline, int64(b.Runtime) }

// wake sets the budget of a task that wakes. The task keeps what it had left, unless
// that is too much for the time until the deadline.
//
// Kernel: update_dl_entity and update_dl_revised_wakeup; dl_entity_overflow.
func (b *budget) wake(now Time) {
	left := uint64(max(b.left, 0)) >> 10
	switch {
	case b.at < now:
		b.newPeriod(now)
	case (b.at-now)>>10*(b.Runtime>>10) >= b.Deadline>>10*left:
	case b.Deadline == b.Period:
		b.newPeriod(now)
	default:
		b.left = int64(b.Runtime >> 10 * ((b.at - now) >> 10) / (b.Deadline >> 10) << 10)
	}
}

// wakeDeadline prepares the budget of t before t is put on a run queue.
//
// Kernel: enqueue_task_dl and dl_check_constrained_dl.
func (c *CPU) wakeDeadline(t *Task) {
	b := &t.budget
	if b.throttled || b.Runtime == 0 {
		return
	}
	if next := b.next(); b.Deadline < b.Period && b.at < c.Time && c.Time < next {
		b.left = 0
		c.throttle(t)
		return
	}
	b.wake(c.Time)
}

// next is when the next period begins.
func (b *budget) next() Time { return b.at - b.Deadline + b.Period }

// charge takes the time that the running task has run from its budget, and throttles
// the task if nothing is left.
//
// Kernel: update_curr_dl.
func (c *CPU) charge() {
	t := c.Current
	ran := c.Time - c.charged
	c.charged = c.Time
	b := &t.budget
	if !t.DeadlineTask() || b.Runtime == 0 || b.throttled {
		return
	}
	if b.left -= int64(ran); b.left > 0 {
		return
	}
	b.ready = true
	c.throttle(t)
	c.NeedResched = true
}

// throttle keeps t from running until its next period.
//
// Kernel: start_dl_timer.
func (c *CPU) throttle(t *Task) {
	t.budget.throttled = true
	c.queue(Interrupt{At: max(t.budget.next(), c.Time), Kind: Replenish, budget: t})
}

// replenish gives t the budget of its next period.
//
// Kernel: dl_task_timer and replenish_dl_entity.
func (c *CPU) replenish(t *Task) {
	b := &t.budget
	if !b.throttled || t.state == StateDead {
		return
	}
	for b.left <= 0 {
		b.at += b.Period
		b.left += int64(b.Runtime)
	}
	if b.at < c.Time {
		b.newPeriod(c.Time)
	}
	b.throttled = false
	if ready := b.ready; ready && t.cpu.Current != t {
		t.cpu.enqueue(t)
		t.cpu.kick(c)
	}
	b.ready = false
}
