package machine

import "slices"

// Interrupt is one interrupt that a CPU will take.
type Interrupt struct {
	At   Time
	Kind InterruptKind
	IRQ  int    // number, of a Device
	Name string // of the device's handler
	Task *Task  // whom the handler wakes, or nil
	// Request is what a block device has done, or nil.
	Request *Request
	From    Origin // what it came upon; set when it is taken

	sleep  uint64 // the sleep of Task that it ends
	budget *Task  // of Replenish
}

// InterruptKind is where an interrupt comes from.
type InterruptKind uint8

const (
	Tick         InterruptKind = iota // local timer: the scheduler tick
	Sleep                             // local timer: the high resolution timer of a sleeping task
	Device                            // a device
	Reschedule                        // another CPU: look at the run queue
	CallFunction                      // another CPU: run a function
	Replenish                         // local timer: a deadline task's next period begins
	WatchdogNMI                       // an NMI of the watchdog's counter
	BacktraceNMI                      // an NMI from another CPU: show the stack
)

// Origin is what an interrupt came upon.
type Origin uint8

const (
	InKernel Origin = iota
	InUser
	InHalt // the idle task, waiting
)

// Interrupt lets c take irq at irq.At, or as soon after as it has interrupts enabled.
// If c is offline, another CPU takes it on behalf of a task that may run there.
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

// queue puts irq among the interrupts to come.
func (c *CPU) queue(irq Interrupt) {
	i, _ := slices.BinarySearchFunc(c.irqs, irq, func(a, b Interrupt) int {
		if a.At <= b.At {
			return -1 // behind those of the same time
		}
		return 1
	})
	c.irqs = slices.Insert(c.irqs, i, irq)
}

// urgent says that irq lets a task run that waits for nobody.
func (irq *Interrupt) urgent() bool {
	return irq.Task != nil && irq.Task.Prio < maxRTPrio || irq.budget != nil
}

// takeInterrupt puts the handler of the earliest interrupt on top of what runs.
func (c *CPU) takeInterrupt() {
	irq := c.irqs[0]
	c.irqs = slices.Delete(c.irqs, 0, 1)
	if irq.Kind == Reschedule || irq.Kind == CallFunction {
		c.kicked = false
	}
	if t := irq.Task; t != nil && (t.sleeps != irq.sleep || !t.asleep()) {
		return // the sleep it was to end is over: the timer was cancelled
	}
	irq.From = c.origin()
	if irq.budget != nil {
		c.replenish(irq.budget)
	}
	code := c.m.kernel.Workload.Interrupt(c, irq)
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

// origin is what an interrupt would come upon now.
func (c *CPU) origin() Origin {
	switch t := c.Current; {
	case c.halted && len(t.acts) == 1:
		return InHalt
	case len(t.acts) == 0 && t.program == nil, len(t.acts) == 0 && !t.Kernel:
		return InUser
	}
	return InKernel
}

// push puts the handler of an interrupt on top of what runs.
func (c *CPU) push(a activation) {
	if c.opDue != never {
		a.left = c.opDue - c.Time
	}
	c.Current.acts = append(c.Current.acts, a)
	c.advance()
}

// IRQName is the name of the device whose interrupt c handles, "" for none.
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

// leave takes the finished activation off and goes back to what is underneath.
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

// resume goes on with what an interrupt came upon in the kernel.
func (c *CPU) resume(t *Task, a *activation) {
	base := a.base
	c.setState(&base, &activation{})
	if a.irq.From == InHalt {
		c.wakeFromHalt()
		return
	}
	c.opDue = c.Time + a.left
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

// wakeFromHalt goes on behind an OpHalt: where it leads with work, and where
// without.
func (c *CPU) wakeFromHalt() {
	a := &c.idle.acts[0]
	op := &a.code[a.pc-1]
	switch {
	case len(c.rq) > 0:
		a.pc = int(op.Arg)
	default:
		a.pc = int(op.Delta)
	}
	if c.halted && c.m.Hooks.Idle != nil {
		s := c.condition()
		s.irqsOff = true // cli behind the hlt
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

// between asks what t, which is out of kernel code, does next.
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

// enter begins the stay that t was waiting for.
func (c *CPU) enter(t *Task) {
	if t == c.idle && len(c.rq) > 0 {
		c.NeedResched = false // an idle task without an idle loop
		c.switchTo(c.takeNext(), StateRunning)
		c.advance()
		return
	}
	if !t.pending {
		c.between(t)
		return
	}
	t.pending, t.userLeft, t.wakeSoon = false, 0, false
	t.stay = t.next
	t.returns = t.stay.Kind == Syscall
	if t.stay.Kind != KernelWork {
		c.crossIn(t)
	}
	t.acts = append(t.acts, activation{code: t.stay.Code, kind: actStay})
	c.advance()
}
