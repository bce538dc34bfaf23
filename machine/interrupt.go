package machine

import "slices"

// Interrupt is an interrupt that a CPU will take.
type Interrupt struct {
	At   Time
	Kind InterruptKind
	IRQ  int    // the number of the interrupt, for a Device
	Name string // the name of the device's handler
	Task *Task  // the task that the handler wakes; may be nil
	// Request is the request that a block device has completed; may be nil.
	Request *Request
	From    Origin // what it has interrupted; set when it is taken
	// Piece is 1 more than the index in Kernel.Pieces of the code that handles it; 0: the
	// workload chooses the code.
	Piece int32

	sleep  uint64 // which sleep of Task it ends
	budget *Task  // for Replenish: the deadline task
}

// InterruptKind says where an interrupt comes from.
type InterruptKind uint8

const (
	Tick         InterruptKind = iota // local timer: the scheduler tick
	Sleep                             // local timer: the high resolution timer of a sleeping task
	Device                            // a device
	Reschedule                        // from another CPU: look at the run queue
	CallFunction                      // from another CPU: run a function
	Replenish                         // local timer: a deadline task's next period begins
	WatchdogNMI                       // an NMI of the watchdog's counter
	BacktraceNMI                      // an NMI from another CPU: show the stack
)

// Origin says what an interrupt has interrupted.
type Origin uint8

const (
	InKernel Origin = iota
	InUser
	InHalt // the idle task while it waits
)

// Interrupt lets c take irq at irq.At, or as soon afterwards as interrupts are enabled.
// If c is offline and the interrupt is for a task that may run elsewhere, another CPU
// takes it.
func (c *CPU) Interrupt(irq Interrupt) {
	irq.At = max(irq.At, c.m.now)
	if t := irq.Task; t != nil {
		irq.sleep = t.sleeps
		if c.presence == absent && !t.bound {
			c = c.target(t)
		}
	}
	c.queue(irq)
}

// queue adds irq to the interrupts to come.
func (c *CPU) queue(irq Interrupt) {
	i, _ := slices.BinarySearchFunc(c.irqs, irq, func(a, b Interrupt) int {
		if a.At <= b.At {
			return -1 // it follows those with the same time
		}
		return 1
	})
	c.irqs = slices.Insert(c.irqs, i, irq)
	c.touch()
}

// urgent reports whether irq does not wait for kernel code to end, because it lets a
// real-time or deadline task run.
func (irq *Interrupt) urgent() bool {
	return irq.Task != nil && irq.Task.Prio < maxRTPrio || irq.budget != nil
}

// takeInterrupt puts the handler of the earliest interrupt on top of the code that
// runs.
func (c *CPU) takeInterrupt() {
	irq := c.irqs[0]
	c.irqs = slices.Delete(c.irqs, 0, 1)
	if irq.Kind == Reschedule || irq.Kind == CallFunction {
		c.kicked = false
	}
	if t := irq.Task; t != nil && (t.sleeps != irq.sleep || !t.asleep()) {
		return // the sleep that it was to end is over, so the timer was cancelled
	}
	irq.From = c.origin()
	if irq.budget != nil {
		c.replenish(irq.budget)
	}
	var code Code
	if irq.Piece > 0 {
		code = c.m.kernel.Pieces[irq.Piece-1].Code
	} else {
		code = c.m.kernel.Workload.Interrupt(c, irq)
	}
	if len(code) > 0 || irq.Task != nil {
		c.taken.add(&irq) // the others are timers that were cancelled
	}
	if len(code) == 0 {
		if irq.Task != nil {
			c.wake(irq.Task)
		}
		if irq.From == InHalt {
			c.wakeFromHalt()
		}
		return
	}
	if irq.From == InUser {
		c.crossIn(c.Current)
	}
	c.push(activation{code: code, kind: actInterrupt, irq: irq, base: c.state()})
}

// origin says what an interrupt would interrupt now.
func (c *CPU) origin() Origin {
	switch t := c.Current; {
	case c.halted && len(t.acts) == 1:
		return InHalt
	case len(t.acts) == 0 && !t.Kernel:
		return InUser
	}
	return InKernel
}

// push puts the handler of an interrupt on top of the code that runs.
func (c *CPU) push(a activation) {
	if c.opDue != never {
		a.left = c.opDue - c.Time
	}
	c.Current.acts = append(c.Current.acts, a)
	c.advance()
}

// IRQName is the name of the device whose interrupt c is handling; "" if it handles
// none.
func (c *CPU) IRQName() string {
	if n := len(c.Current.acts); n > 0 && c.Current.acts[n-1].kind == actInterrupt {
		return c.Current.acts[n-1].irq.Name
	}
	return ""
}

// crossIn and crossOut are the two ends of a stay in the kernel that began in
// user space.
func (c *CPU) crossIn(t *Task) {
	if t.Kernel || t.inKernel {
		return
	}
	t.inKernel = true
	if c.m.Hooks.UserEntry != nil {
		c.m.Hooks.UserEntry(c)
	}
}

func (c *CPU) crossOut(t *Task) {
	if !t.inKernel {
		return
	}
	t.inKernel = false
	if c.m.Hooks.UserExit != nil {
		c.m.Hooks.UserExit(c)
	}
}

// leave removes the finished activation and goes back to the one below it.
func (c *CPU) leave(t *Task) {
	a := t.acts[len(t.acts)-1]
	t.acts = t.acts[:len(t.acts)-1]
	if a.wake != nil {
		c.makeRunnable(a.wake)
	}
	if child := t.child; child != nil && a.kind == actStay {
		t.child = nil
		c.woken(child, EvSchedWakeupNew)
	}
	if a.kind == actNMI {
		c.leaveNMI(t, &a)
		return
	}
	if a.kind == actSwitch {
		c.advance()
		return
	}
	if a.kind == actInterrupt {
		if irq := &a.irq; irq.Task != nil && irq.Task.sleeps == irq.sleep && irq.Task.asleep() {
			c.wake(irq.Task)
		}
		if a.irq.From != InUser {
			c.resume(t, &a)
			return
		}
		t.userLeft = a.left
	}
	if t.exiting {
		c.bury(t)
		return
	}
	if c.NeedResched && a.kind != actPreempt && t != c.idle {
		if code := c.m.kernel.Workload.Preempt(c, t); len(code) > 0 {
			c.clearState()
			t.acts = append(t.acts, activation{code: code, kind: actPreempt})
			c.opDue = c.Time + Time(code[0].Delta)
			return
		}
	}
	c.between(t)
}

// resume goes on with the kernel code that was interrupted.
func (c *CPU) resume(t *Task, a *activation) {
	base := a.base
	c.crossing = outOfKernel
	c.setState(&base, &activation{})
	c.crossing = ""
	if a.irq.From == InHalt {
		c.wakeFromHalt()
		return
	}
	c.opDue = c.Time + a.left
	if t == c.idle && len(t.acts) == 0 && len(c.rq) > 0 {
		c.opDue = c.Time + 1 // an idle task without an idle loop: see enter
	}
}

// halt makes the idle task wait for an interrupt, unless there is work.
func (c *CPU) halt() {
	if len(c.rq) > 0 {
		c.wakeFromHalt()
		return
	}
	c.halted, c.opDue = true, never
	c.watchdog.halt(c)
	c.idling(true)
	s := c.condition()
	s.irqsOff = false // sti; hlt
	c.apply(s)
	if c.presence == leaving {
		c.vanish()
	}
}

// wakeFromHalt goes on after an OpHalt, at one of its two places: one is for work, the
// other for no work.
func (c *CPU) wakeFromHalt() {
	a := &c.idle.acts[0]
	op := &a.code[a.pc-1]
	switch {
	case len(c.rq) > 0:
		a.pc = int(op.Arg)
	default:
		a.pc = int(op.Delta)
	}
	if c.halted {
		s := c.condition()
		s.irqsOff = true // cli after the hlt
		c.apply(s)
		c.idling(false)
	}
	if c.halted {
		c.watchdog.run(c)
	}
	c.halted = false
	c.opDue = c.Time + 1
	if next := &a.code[a.pc]; next.Kind != OpHalt {
		c.opDue = c.Time + Time(next.Delta)
	}
}

// between asks what t does next. t is not inside kernel code.
func (c *CPU) between(t *Task) {
	c.crossOut(t)
	c.clearState()
	if t.returns {
		t.returns = false
		if c.m.Hooks.User != nil {
			c.m.Hooks.User(c)
		}
	}
	if !t.pending {
		if t.program != nil {
			t.next = t.program(c, t)
		} else {
			t.next = c.m.kernel.Workload.Next(c, t)
		}
		t.pending = true
		t.userLeft = max(t.next.After, 1)
		if !t.Kernel {
			t.User = t.next.User
		}
	}
	c.opDue = c.Time + t.userLeft
}

// enter begins the next stay of t, whose time has come.
func (c *CPU) enter(t *Task) {
	fresh := !t.pending
	if fresh {
		c.between(t)
	}
	switch loops := t != c.idle || len(t.next.Code) > 0; {
	case !loops && len(c.rq) > 0:
		c.NeedResched = false
		c.pick(c.takeNext(), StateRunning)
		c.switchNow()
		c.advance()
		return
	case fresh:
		return
	}
	t.pending, t.userLeft, t.wakeSoon = false, 0, false
	t.stay = t.next
	t.returns = t.stay.Kind == Syscall
	if t.stay.Kind != KernelWork {
		c.crossIn(t)
	}
	// A sampler measures its own steps.
	t.acts = append(t.acts, activation{code: t.stay.Code, kind: actStay, exact: t.program != nil})
	c.advance()
}
