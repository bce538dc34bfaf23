package machine

import (
	"fmt"
	"slices"
	"syscall"
)

// class is a scheduling class. A lower number runs first.
//
// Kernel: the order of the classes in SCHED_DATA, include/asm-generic/vmlinux.lds.h.
type class uint8

const (
	stopClass class = iota
	deadlineClass
	rtClass
	fairClass
)

func (t *Task) class() class {
	switch {
	case t.stop:
		return stopClass
	case t.DeadlineTask():
		return deadlineClass
	case t.RealTime():
		return rtClass
	}
	return fairClass
}

// before reports whether t runs before o.
//
// Departure: tasks of the fair class take turns, whatever their nice values are. No
// server gives them a share of a CPU that other classes keep busy, and real-time tasks
// are not throttled.
//
// Kernel: wakeup_preempt, kernel/sched/core.c, and the classes' functions of that name.
func (t *Task) before(o *Task) bool {
	a, b := t.class(), o.class()
	switch {
	case a != b:
		return a < b
	case a == deadlineClass:
		return t.budget.at < o.budget.at
	case a == rtClass:
		return t.Prio < o.Prio
	}
	return false
}

// enqueue puts t on the run queue of c, after its equals, and asks for a reschedule if t
// runs before the current task.
func (c *CPU) enqueue(t *Task) {
	t.state, t.cpu = StateRunning, c
	if t.budget.throttled {
		t.budget.ready = true
		return
	}
	c.insert(t, false)
	if c.Current == c.idle || t.before(c.Current) {
		c.NeedResched = true
	}
}

// insert puts t on the run queue of c: after its equals, or before them if ahead is set.
func (c *CPU) insert(t *Task, ahead bool) {
	t.onRQ = true
	i := len(c.rq)
	for i > 0 && (t.before(c.rq[i-1]) || ahead && !c.rq[i-1].before(t)) {
		i--
	}
	c.rq = slices.Insert(c.rq, i, t)
}

// rrTicks is how many ticks a task of SCHED_RR runs before it is its equals' turn.
//
// Kernel: RR_TIMESLICE, include/linux/sched/rt.h.
const rrTicks = hz / 10

// SchedTick does what the scheduler does at a tick for the running task.
//
// Kernel: the task_tick functions of the classes, from sched_tick, kernel/sched/core.c.
func (c *CPU) SchedTick() {
	t := c.Current
	switch {
	case t.DeadlineTask():
		c.charge()
	case !t.RealTime():
		if len(c.rq) > 0 {
			c.NeedResched = true
		}
	case t.Policy == RR:
		if t.ticks++; t.ticks >= rrTicks {
			t.ticks = 0
			c.NeedResched = c.NeedResched || len(c.rq) > 0 && !t.before(c.rq[0])
		}
	}
}

// SchedAttr says how a task is scheduled (struct sched_attr).
type SchedAttr struct {
	Policy   Policy
	Nice     int // for the fair class
	Priority int // for a real-time policy: 1 to 99
	DeadlineParams
}

// SchedAttr tells how t is scheduled.
func (t *Task) SchedAttr() SchedAttr {
	return SchedAttr{Policy: t.Policy, Nice: t.Nice(), Priority: t.RTPriority(), DeadlineParams: t.budget.DeadlineParams}
}

// CheckScheduling gives an error if t must not be scheduled in that way; a nil t stands
// for a new task. Errors: EINVAL for values that make no sense, EPERM for a deadline
// task that is bound to a CPU, EBUSY if there are too many deadline tasks.
func (m *Machine) CheckScheduling(t *Task, attr *SchedAttr) error {
	rt := attr.Policy == FIFO || attr.Policy == RR
	if attr.Policy > Deadline || rt != (attr.Priority != 0) || attr.Priority < 0 || attr.Priority >= maxRTPrio || t != nil && t.stop {
		return fmt.Errorf("policy %d with priority %d: %w", attr.Policy, attr.Priority, syscall.EINVAL)
	}
	if attr.Policy != Deadline {
		return nil
	}
	if err := attr.check(); err != nil {
		return err
	}
	if t != nil && t.bound {
		return fmt.Errorf("task %d is bound to a CPU: %w", t.PID, syscall.EPERM)
	}
	return m.admit(t, &attr.DeadlineParams)
}

// SetScheduling changes how t is scheduled. Errors are those of CheckScheduling.
//
// Kernel: __sched_setscheduler, kernel/sched/syscalls.c.
func (m *Machine) SetScheduling(t *Task, attr SchedAttr) error {
	if err := m.CheckScheduling(t, &attr); err != nil {
		return err
	}
	c := t.cpu
	c.Time = max(c.Time, m.now)
	if c.Current == t {
		c.charge()
	}
	queued := t.onRQ || t.budget.throttled && t.budget.ready
	c.rq = slices.DeleteFunc(c.rq, func(o *Task) bool { return o == t })
	t.onRQ, t.ticks = false, 0
	t.Policy, t.budget = attr.Policy, budget{}
	m.touchAll()
	switch attr.Policy {
	case Deadline:
		t.Prio = -1
		t.budget.DeadlineParams = attr.DeadlineParams
		t.budget.newPeriod(m.now)
	case FIFO, RR:
		t.Prio = RTPrio(attr.Priority)
	default:
		t.Prio = maxRTPrio + 20 + min(max(attr.Nice, -20), 19)
	}
	switch {
	case c.Current == t:
		c.NeedResched = c.NeedResched || len(c.rq) > 0 && c.rq[0].before(t)
	case queued:
		if t.class() != fairClass { // another CPU may run it at once (push_rt_task)
			t.cpu = c.target(t)
		}
		t.cpu.enqueue(t)
		t.cpu.kick(c)
	}
	return nil
}
