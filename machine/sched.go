package machine

import (
	"cmp"
	"slices"
)

// schedule chooses the next task, and puts the code of the context switch on top of the
// code that runs. The current task goes to sleep in the state that op names, or stays
// runnable. The first task of the run queue goes on where it was switched out.
//
// The choice stands from here on: in the kernel, too, the run queue is locked until the
// switch is over.
//
// Kernel: __schedule, kernel/sched/core.c.
func (c *CPU) schedule(op *Op, a *activation) {
	prev, next, state := c.Current, c.Current, int64(op.Arg)
	if dead := state == StateDead || state == StateZombie; dead != prev.exiting {
		state = StateRunning // a task that exits does not sleep before it is dead, and no other task is
	}
	c.charge()
	c.NeedResched = false
	if !runs(state) && (prev.wakeSoon || prev.stay.Wait.Over != nil && prev.stay.Wait.Over()) {
		state = StateRunning // the wake-up came before the sleep
	}
	prev.wakeSoon = false
	runnable, throttled := runs(state), prev.budget.throttled
	if !runnable || len(c.rq) > 0 || throttled || prev != c.idle && !c.keeps(prev) {
		prev.budget.ready = throttled && runnable
		if prev != c.idle && runnable && !throttled && c.keeps(prev) {
			c.insert(prev, prev.Policy == FIFO)
		}
		c.balanceIdle()
		next = c.takeNext()
	}
	if next != prev {
		c.pick(next, state)
	}
	code := c.m.kernel.Workload.Switch(c, Switching{prev, next, state, c.pulled != nil})
	if len(code) > 0 {
		c.pushSwitch(prev, code, Op{Flags: a.base.Flags, Preempt: a.base.Preempt + op.Preempt&0xf0})
	} else if next != prev {
		c.switchNow()
	}
}

// runs reports whether a task in that state can run.
func runs(state int64) bool { return state == StateRunning || state == StatePreempted }

// keeps reports whether a runnable task may stay on c.
func (c *CPU) keeps(t *Task) bool {
	return t.bound || c.presence == present && (t.allowed == nil || t.allowed == c || t.allowed.presence != present)
}

// pushSwitch puts code of a context switch on top of the code that t runs.
func (c *CPU) pushSwitch(t *Task, code Code, base Op) {
	if len(code) > 0 {
		t.acts = append(t.acts, activation{code: code, kind: actSwitch, base: base})
	}
}

// pick makes next the task to which c switches. The current task leaves in a state. If
// that is a sleep, its wait begins.
func (c *CPU) pick(next *Task, state int64) {
	prev := c.Current
	c.picked = Switching{Prev: prev, Next: next, State: state}
	prev.leaving = true
	if prev != c.idle && !prev.exiting && !runs(state) {
		prev.state = state
		c.sleep(prev, prev.stay.Wait)
	}
}

func (c *CPU) takeNext() *Task {
	if len(c.rq) == 0 {
		return c.idle
	}
	t := c.rq[0]
	c.rq = slices.Delete(c.rq, 0, 1)
	t.onRQ = false
	return t
}

// performSwitch is the tracepoint of a context switch, which the current task passes
// just before it.
func (c *CPU) performSwitch(*Task, *activation, *Op) {
	p := &c.picked
	c.reportPulled()
	c.told = true
	if c.on(EvSchedSwitch) {
		c.args.schedSwitch = SchedSwitch{
			Preempt: p.State == StatePreempted, Prev: p.Prev, Next: p.Next, PrevState: p.State,
		}
		c.report(EvSchedSwitch, &c.args.schedSwitch)
	}
	if c.m.Hooks.Switch != nil {
		c.m.Hooks.Switch(c, p.Prev, p.Next)
	}
}

// Departing reports whether the current task has passed sched_switch and is about to
// leave the CPU.
func (c *CPU) Departing() bool { return c.told }

// switchNow does a context switch without code.
func (c *CPU) switchNow() {
	c.performSwitch(nil, nil, nil)
	c.switchTo()
}

// switchTo makes the task that was picked the current one. That task goes on with the
// end of the context switch in which it has left its own CPU.
//
// Kernel: __switch_to, arch/x86/kernel/process_64.c.
func (c *CPU) switchTo() {
	prev, next := c.picked.Prev, c.picked.Next
	c.charged, c.told = c.Time, false
	prev.runtime += c.Time - c.since
	prev.out = c.Time
	c.Current, next.cpu, c.since, c.accounted = next, c, c.Time, c.Time
	c.halted = false
	next.state = StateRunning
	switch n := len(next.acts); {
	case n > 0 && next.acts[n-1].kind == actSwitch:
		base := next.acts[n-1].base
		next.acts = next.acts[:n-1]
		c.pushSwitch(next, c.m.kernel.Workload.Finish(c, c.picked, false), base)
	case n == 0 && next != c.idle: // it has left its CPU before anything was traced
		c.pushSwitch(next, c.m.kernel.Workload.Finish(c, c.picked, false), Op{})
	}
	c.left(prev)
}

// left is for a task that is no longer the current one.
func (c *CPU) left(t *Task) {
	t.leaving = false
	switch state := c.picked.State; {
	case t.deferred:
		t.deferred = false
		c.migrate(t)
		c.makeRunnable(t)
	case runs(state) && t != c.idle && !c.keeps(t):
		c.moveAway(t)
	case state == StateDead || state == StateZombie:
		c.m.remove(t)
	}
}

// sleep starts the wait of t for w; t is not on a run queue.
func (c *CPU) sleep(t *Task, w Wait) {
	t.sleeps++
	t.wait = w
	if t.state == StateRunning {
		t.state = StateInterruptible
	}
	at := w.At
	if w.Timeout > 0 {
		at = c.Time + w.Timeout
	}
	if at > 0 {
		c.Interrupt(Interrupt{At: at, Kind: w.By, IRQ: w.IRQ, Name: w.Name, Task: t})
	}
}

// asleep reports whether t waits to be woken.
func (t *Task) asleep() bool { return t.state != StateRunning && !t.onRQ && !t.exiting }

// target chooses the CPU on which t will run: its previous one, if that is idle or no
// other CPU is idle.
//
// Departure: select_task_rq weighs caches and loads. Here, only idle CPUs are looked
// for and, for real-time and deadline tasks, a CPU on which they run first.
func (c *CPU) target(t *Task) *CPU {
	if t.bound && t.home != nil {
		return t.home
	}
	if t.allowed != nil && t.allowed.presence == present {
		return t.allowed
	}
	if t.bound || t.cpu.presence == present && (t.cpu.idleNow() || t.class() != fairClass && t.first(t.cpu)) {
		return t.cpu
	}
	for _, o := range c.m.cpus {
		if o.idleNow() && o.presence == present {
			return o
		}
	}
	if t.class() != fairClass {
		for _, o := range c.m.cpus {
			if o.presence == present && t.first(o) {
				return o
			}
		}
	}
	if t.cpu.presence != present {
		return c.m.cpus[0] // CPU 0 never goes offline
	}
	return t.cpu
}

// first: would t run on c before all that run or wait there?
func (t *Task) first(c *CPU) bool {
	return t.before(c.Current) && (len(c.rq) == 0 || t.before(c.rq[0]))
}

// Runnable is the number of tasks that wait for the CPU.
func (c *CPU) Runnable() int { return len(c.rq) }

func (c *CPU) idleNow() bool { return c.Current == c.idle && len(c.rq) == 0 && !c.idle.leaving }

// waking begins the wake-up of t by c. It returns false if t does not sleep.
func (c *CPU) waking(t *Task) bool {
	if t == nil {
		return false
	}
	if !t.asleep() {
		if t.cpu != nil && t.cpu.Current == t && t != t.cpu.idle {
			t.wakeSoon = t.stay.Wait.Class != 0
		}
		return false
	}
	t.state = StateRunning
	t.sleeps++
	if c.on(EvSchedWaking) {
		c.args.wakeup = SchedWakeup{ID: EvSchedWaking, Task: t, TargetCPU: t.cpu.ID}
		c.report(EvSchedWaking, &c.args.wakeup)
	}
	if t.leaving {
		t.deferred = true // its own CPU ends the wake-up when it has left, as sched_ttwu_pending does
		return true
	}
	c.migrate(t)
	return true
}

// migrate moves a task that is being woken to the CPU on which it will run.
func (c *CPU) migrate(t *Task) {
	if dst := c.target(t); dst != t.cpu {
		c.reportMigrate(t, t.cpu, dst)
		t.cpu = dst
	}
}

// makeRunnable ends the wake-up that waking began.
func (c *CPU) makeRunnable(t *Task) {
	if !t.deferred {
		c.woken(t, EvSchedWakeup)
	}
}

func (c *CPU) woken(t *Task, e Event) {
	dst := t.cpu
	if t.DeadlineTask() {
		c.wakeDeadline(t)
	}
	dst.enqueue(t)
	if c.on(e) {
		c.args.wakeup = SchedWakeup{ID: e, Task: t, TargetCPU: dst.ID}
		c.report(e, &c.args.wakeup)
	}
	dst.kick(c)
}

// kick makes c notice that the CPU from has put something on its run queue.
func (c *CPU) kick(from *CPU) {
	at := c.m.now + ipiLatency
	switch {
	case c.presence == absent:
	case c.Current == c.idle && len(c.idle.acts) == 0:
		c.opDue = min(c.opDue, at) // no idle loop: see enter
		c.touch()
	case c.halted && len(c.idle.acts) == 1 && !c.kicked:
		c.kicked = true
		c.Interrupt(Interrupt{At: at, Kind: CallFunction})
	case c.Current != c.idle && c != from && c.NeedResched && !c.kicked:
		c.kicked = true
		c.Interrupt(Interrupt{At: at, Kind: Reschedule})
	}
}

// ipiLatency is how long an interrupt takes from one CPU to another, in ns.
const ipiLatency = 1200

// Wake ends the sleep of t, if it sleeps, as kthread_stop on another CPU does.
func (m *Machine) Wake(t *Task) {
	t.cpu.wake(t)
	t.cpu.kick(nil)
}

// wake does a whole wake-up at once.
func (c *CPU) wake(t *Task) {
	if c.waking(t) {
		c.makeRunnable(t)
	}
}

// Fork makes a child of the current task and reports it. The child becomes runnable at
// the next EvSchedWakeupNew, or when the code that has forked is done. Only
// Workload.Event may call it.
//
// The child has the registers and mappings of its parent and a copy of its user stack,
// unless cfg says otherwise.
//
// Kernel: dup_mm, kernel/fork.c; copy_thread, arch/x86/kernel/process.c.
//
// Departure: a thread gets a copy of the stack, too, at the same place. In the kernel it
// shares all memory, and its stack pointer is what clone was given.
func (c *CPU) Fork(cfg TaskConfig, cloneFlags uint64) *Task {
	t := c.Current
	cfg.Parent = t
	child := c.m.newTask(cfg)
	child.cpu, child.allowed = c, cmp.Or(child.allowed, t.allowed)
	if !cfg.Kernel {
		child.inherit(t)
	}
	if c.on(EvNewTask) {
		c.args.newTask = NewTask{Task: child, CloneFlags: cloneFlags}
		c.report(EvNewTask, &c.args.newTask)
	}
	if c.on(EvSchedFork) {
		c.args.fork = SchedFork{Parent: t, Child: child}
		c.report(EvSchedFork, &c.args.fork)
	}
	child.cpu = c.target(child).calmest(child)
	t.child = child
	return child
}

// inherit gives a child what its parent has in user space.
func (t *Task) inherit(parent *Task) {
	t.User, t.Compat = parent.User, parent.Compat
	if t.Maps == nil {
		t.Maps = parent.Maps
	}
	if memory, ok := parent.Memory.(ForkedMemory); ok && t.Memory == nil {
		t.Memory = memory.Fork()
	}
}

// Exec gives the current task another program, as Kernel.Load says, and reports it. When
// it reports the new name, the registers are still those of the old program. Only
// Workload.Event may call it.
//
// Kernel: begin_new_exec, fs/exec.c, and start_thread, which load_elf_binary calls at its end.
func (c *CPU) Exec(comm, filename string) {
	t := c.Current
	if c.m.Hooks.Executing != nil {
		c.m.Hooks.Executing(c)
	}
	var p Program
	if load := c.m.kernel.Load; load != nil {
		p = load(t, comm, filename)
	}
	t.Memory, t.Maps, t.Compat = p.Memory, p.Maps, p.Compat
	c.PreemptCount++ // task_lock
	c.Rename(comm)
	c.PreemptCount--
	t.User = p.User
	if c.on(EvSchedExec) {
		c.args.exec = SchedExec{Task: t, Filename: filename, OldPID: t.PID}
		c.report(EvSchedExec, &c.args.exec)
	}
}

// Rename gives the current task another name, and reports it. Only code of the machine may
// call it, as in Stay.Probe.
//
// Kernel: __set_task_comm, fs/exec.c.
func (c *CPU) Rename(comm string) {
	t := c.Current
	if c.on(EvTaskRename) {
		c.args.rename = TaskRename{Task: t, OldComm: t.Comm, NewComm: comm}
		c.report(EvTaskRename, &c.args.rename)
	}
	t.Comm = comm
}

// bury switches away from a task whose exit code has ended without a switch.
func (c *CPU) bury(t *Task) {
	c.NeedResched = false
	c.pick(c.takeNext(), StateDead)
	c.switchNow()
	c.advance()
}

// maxDead is how many dead tasks can wait for their sched_process_free.
const maxDead = 64

// remove removes an exited task from the task list.
func (m *Machine) remove(t *Task) {
	t.state, t.frames, t.acts = StateDead, nil, nil
	delete(m.tasks, t.PID)
	if len(m.dead) == maxDead {
		m.dead = slices.Delete(m.dead, 0, 1)
	}
	m.dead = append(m.dead, t)
	for _, o := range m.tasks {
		if o.Parent == t {
			o.Parent = t.Parent
		}
	}
	if m.Hooks.Exit != nil {
		m.Hooks.Exit(t)
	}
}
