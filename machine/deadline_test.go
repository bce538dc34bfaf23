package machine

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
)

// oneCPU is a machine of one CPU, whose tasks run from tick to tick and are
// rescheduled at the end of each handler that asks for it.
type oneCPU struct {
	Script
	yield Code
}

func (w *oneCPU) Preempt(*CPU, *Task) Code { return w.yield }

func (w *oneCPU) Interrupt(c *CPU, irq Interrupt) Code {
	if irq.Kind == Tick {
		c.Interrupt(Interrupt{At: irq.At + Millisecond, Kind: Tick})
		c.SchedTick()
	}
	return w.IRQ
}

func newOneCPU(t *testing.T) *Machine {
	t.Helper()
	m, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	yield, err := a.Call("schedule").Switch(StatePreempted).Return(1).Code()
	if err != nil {
		t.Fatal(err)
	}
	nap, err := a.Call("schedule").Switch(StateInterruptible).Return(1).Code()
	if err != nil {
		t.Fatal(err)
	}
	irq, err := a.Call("irq_enter_rcu").Return(1).Code()
	if err != nil {
		t.Fatal(err)
	}
	idle, err := a.Hide("do_idle").Hide("schedule_idle").Switch(StateRunning).Return(2).Code()
	if err != nil {
		t.Fatal(err)
	}
	idle = slices.Insert(idle, 1, Op{Kind: OpHalt, Arg: 2, Delta: 1})
	w := &oneCPU{yield: yield}
	w.IRQ = irq
	w.Stays = map[string][]Stay{
		"swapper/0": {{Kind: KernelWork, Code: idle}},
		"spins":     {{Kind: Syscall, After: Second, Code: irq}},
		"naps":      {{Kind: Syscall, After: Millisecond / 2, Code: nap, Wait: Wait{Timeout: 10 * Millisecond, By: Sleep}}},
	}
	m.Boot(Kernel{Sites: a.Sites, Workload: w})
	m.CPUs()[0].Interrupt(Interrupt{At: Millisecond, Kind: Tick})
	return m
}

func deadlineOf(runtime, deadline, period Time) SchedAttr {
	return SchedAttr{Policy: Deadline, DeadlineParams: DeadlineParams{runtime * Millisecond, deadline * Millisecond, period * Millisecond}}
}

func set(t *testing.T, m *Machine, task *Task, attr SchedAttr) {
	t.Helper()
	if err := m.SetScheduling(task, attr); err != nil {
		t.Fatal(err)
	}
}

// A deadline task that never sleeps gets its runtime in every period and no more, to
// the tick; the rest is for the others.
func TestDeadlineBudget(t *testing.T) {
	m := newOneCPU(t)
	dl, other := m.Spawn(TaskConfig{Comm: "spins"}), m.Spawn(TaskConfig{Comm: "spins"})
	set(t, m, dl, deadlineOf(5, 20, 20))
	ran := func(task *Task, d Time) Time {
		before := m.runtimeOf(task)
		m.Run(d)
		return m.runtimeOf(task) - before
	}
	m.Run(100 * Millisecond)
	if got := ran(dl, 200*Millisecond); got < 45*Millisecond || got > 55*Millisecond {
		t.Errorf("ran for %d ns of 200 ms, want 50 ms", got)
	}
	set(t, m, dl, SchedAttr{Policy: FIFO, Priority: 1})
	if got := ran(other, 200*Millisecond); got > Millisecond {
		t.Errorf("another task ran for %d ns beside one of SCHED_FIFO", got)
	}
	set(t, m, dl, SchedAttr{})
	if got := ran(other, 200*Millisecond); got < 95*Millisecond || got > 105*Millisecond {
		t.Errorf("of two equal tasks one ran for %d ns of 200 ms", got)
	}
}

// runtimeOf is how long t has run so far.
func (m *Machine) runtimeOf(t *Task) Time {
	if c := t.cpu; c.Current == t {
		return t.runtime + m.now - c.since
	}
	return t.runtime
}

// The earliest deadline comes first, then real time, then the others; the stop class
// before all.
func TestDeadlineOrder(t *testing.T) {
	m := newOneCPU(t)
	var order []string
	m.Hooks.Switch = func(_ *CPU, _, next *Task) { order = append(order, next.Comm) }
	spawn := func(comm string, attr SchedAttr) {
		task := m.Spawn(TaskConfig{Comm: comm, Asleep: true, Wait: Wait{Timeout: Millisecond * 2, By: Sleep}})
		set(t, m, task, attr)
	}
	m.Workload().(*oneCPU).Stays["late"] = m.Workload().(*oneCPU).Stays["naps"]
	for _, comm := range []string{"early", "rt9", "rt1", "fair"} {
		m.Workload().(*oneCPU).Stays[comm] = m.Workload().(*oneCPU).Stays["naps"]
	}
	spawn("fair", SchedAttr{})
	spawn("rt1", SchedAttr{Policy: RR, Priority: 1})
	spawn("late", deadlineOf(2, 40, 40))
	spawn("rt9", SchedAttr{Policy: FIFO, Priority: 9})
	spawn("early", deadlineOf(2, 20, 20))
	m.Spawn(TaskConfig{Comm: "naps", Kernel: true, Bound: true, Stop: true, Policy: FIFO, Asleep: true, Wait: Wait{Timeout: Millisecond * 2, By: Sleep}})
	m.Run(8 * Millisecond)
	order = slices.DeleteFunc(order, func(comm string) bool { return comm == "swapper/0" })
	if want := []string{"naps", "early", "late", "rt9", "rt1", "fair"}; !endsInOrder(order, want) {
		t.Errorf("ran %q, want at last %q", order, want)
	}
}

// endsInOrder says whether the last runs of the tasks come in that order.
func endsInOrder(order, want []string) bool {
	last := -1
	for _, comm := range want {
		at := -1
		for i, o := range order {
			if o == comm {
				at = i
			}
		}
		if at <= last {
			return false
		}
		last = at
	}
	return true
}

// A budget that is left over is used on if it is not too much for the time that is
// left; for a deadline shorter than the period it is cut, and a task that wakes behind
// its deadline waits for the next period.
func TestDeadlineWake(t *testing.T) {
	const ms = Millisecond
	for _, c := range []struct {
		deadline, period Time
		at               Time
		left             int64
		now, wantAt      Time
		want             int64
	}{
		{20, 20, 100 * ms, int64(2 * ms), 110 * ms, 130 * ms, int64(5 * ms)},            // too late
		{20, 20, 100 * ms, int64(2 * ms), 85 * ms, 100 * ms, int64(2 * ms)},             // 2 of 15 is less than 5 of 20
		{20, 20, 100 * ms, int64(4 * ms), 90 * ms, 110 * ms, int64(5 * ms)},             // 4 of 10 is more
		{20, 40, 100 * ms, int64(4 * ms), 90 * ms, 100 * ms, int64(2500 * Microsecond)}, // cut to 5/20 of 10
	} {
		b := budget{DeadlineParams: deadlineOf(5, c.deadline, c.period).DeadlineParams, at: c.at, left: c.left}
		b.wake(c.now)
		if b.at != c.wantAt || b.left < c.want-3000 || b.left > c.want+3000 {
			t.Errorf("%+v: deadline %d with %d left", c, b.at, b.left)
		}
	}
	m := newOneCPU(t)
	task := m.Spawn(TaskConfig{Comm: "naps"})
	set(t, m, task, deadlineOf(2, 4, 30))
	began := []Time{}
	m.Hooks.Switch = func(c *CPU, _, next *Task) {
		if next == task {
			began = append(began, c.Time)
		}
	}
	m.Run(100 * ms)
	for i := 1; i < len(began); i++ {
		if d := began[i] - began[i-1]; d < 29*ms {
			t.Errorf("ran at %v: %d ns apart, less than a period", began, d)
		}
	}
	if len(began) < 3 {
		t.Errorf("ran at %v only", began)
	}
}

// What cannot be scheduled is refused with the kernel's error, and nothing changes.
func TestSetSchedulingErrors(t *testing.T) {
	m := newOneCPU(t)
	task, bound := m.Spawn(TaskConfig{Comm: "naps"}), m.Spawn(TaskConfig{Comm: "naps", Bound: true, Kernel: true})
	for _, c := range []struct {
		task *Task
		attr SchedAttr
		want syscall.Errno
	}{
		{task, SchedAttr{Policy: FIFO}, syscall.EINVAL},
		{task, SchedAttr{Policy: Normal, Priority: 1}, syscall.EINVAL},
		{task, SchedAttr{Policy: RR, Priority: 100}, syscall.EINVAL},
		{task, SchedAttr{Policy: 7}, syscall.EINVAL},
		{task, deadlineOf(0, 10, 10), syscall.EINVAL},
		{task, deadlineOf(11, 10, 10), syscall.EINVAL},
		{task, deadlineOf(1, 10, 5), syscall.EINVAL},
		{task, deadlineOf(1, 5000, 5000), syscall.EINVAL},
		{task, SchedAttr{Policy: Deadline, DeadlineParams: DeadlineParams{1000, 200_000, 200_000}}, syscall.EINVAL}, // below 1 µs
		{bound, deadlineOf(1, 10, 10), syscall.EPERM},
		{task, deadlineOf(91, 100, 100), syscall.EBUSY},
	} {
		if err := m.SetScheduling(c.task, c.attr); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.attr, err, c.want)
		}
	}
	if got := fmt.Sprint(task.SchedAttr()); got != fmt.Sprint(SchedAttr{}) {
		t.Errorf("the task is scheduled as %s now", got)
	}
	set(t, m, task, deadlineOf(80, 100, 100))
	set(t, m, task, deadlineOf(89, 100, 100)) // its own bandwidth does not count twice
	if err := m.CheckScheduling(nil, &SchedAttr{Policy: Deadline, DeadlineParams: deadlineOf(2, 100, 100).DeadlineParams}); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a second one: %v, want EBUSY", err)
	}
}
