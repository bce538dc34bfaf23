package machine

// CPU is one simulated processor.
//
// What runs on it is the Current task with its stack of activations: pieces of
// kernel code in progress, an interrupt on top of the system call it
// interrupted. The processor's flags are those of the innermost activation.
type CPU struct {
	ID      int
	Time    Time // this CPU's local time while it runs
	Current *Task

	// What trace flags are made of (TRACE_FLAG_* of the kernel). PreemptCount is
	// the depth of preempt_disable alone; softirq and hardirq contexts are told
	// by the three booleans.
	PreemptCount                int
	MigrateDisable              int
	IRQsOff                     bool
	BHOff                       bool // bottom halves disabled, the "b" of the latency format
	NeedResched                 bool
	InSoftIRQ, InHardIRQ, InNMI bool

	m        *Machine
	seen     uint64 // what setState made the flags of; 0 if they come from elsewhere
	idle     *Task
	opDue    Time // when the next operation of Current is due
	presence presence
	halted   bool // the idle task waits for an interrupt
	kicked   bool // an interrupt from another CPU is under way
	irqs     []Interrupt
	nmis     []Interrupt
	nmiAt    Time // when it takes the next one; never if there is none or one runs
	nmiRuns  bool // the code of one, from its first step to its last
	watchdog watchdog
	rq       []*Task // runnable tasks waiting for the CPU, first to run first
	since    Time    // when Current was switched in

	charged   Time   // until when the running task's budget has been charged
	accounted Time   // until when sched_stat_runtime has reported
	site      uint64 // address inside the innermost function, 0 when not known
	irqTraced bool   // a hook was told that interrupts are off
	outermost uint64 // the function whose return emptied the kernel stack last
	args      arguments
	passed    passed
}

// Machine is the machine this CPU belongs to.
func (c *CPU) Machine() *Machine { return c.m }

// Idle is the CPU's idle task, swapper/N.
func (c *CPU) Idle() *Task { return c.idle }

// due is when the CPU's next step happens: its next operation or, where
// interrupts are enabled, an earlier interrupt.
func (c *CPU) due() Time {
	if c.presence == absent {
		return never
	}
	return max(min(c.irqDue(), c.nmiAt, c.opDue), c.m.smi.until)
}

// irqDue is when the CPU takes its next interrupt if nothing else happens before.
func (c *CPU) irqDue() Time {
	if len(c.irqs) == 0 || c.IRQsOff || c.nmiRuns {
		return never
	}
	at := c.irqs[0].At
	if n := len(c.Current.acts); (n > 1 || n == 1 && !c.halted && !c.Current.stay.Open) && !c.irqs[0].urgent() {
		at += c.m.kernel.Patience
	}
	return max(at, c.Time)
}

// step executes what is due at c.Time.
func (c *CPU) step() {
	if c.nmiAt <= c.Time && c.Time < c.opDue {
		c.takeNMI()
		return
	}
	if c.irqDue() <= c.Time && c.Time < c.opDue {
		c.takeInterrupt()
		return
	}
	t := c.Current
	if c.presence == leaving && t != c.idle && len(t.acts) == 0 && !t.bound {
		c.pushAway()
		return
	}
	if len(t.acts) == 0 {
		c.enter(t)
		return
	}
	a := &t.acts[len(t.acts)-1]
	op := &a.code[a.pc]
	a.pc++
	c.setState(op, a)
	switch op.Kind {
	case OpCall:
		c.call(t, &c.m.kernel.Sites[op.Arg], c.m.ips[op.Arg])
	case OpReturn:
		c.ret(t, op.Arg)
	case OpTrace:
		c.perform(t, op)
	case OpSwitch:
		c.reschedule(op)
	case OpPrintk:
		if c.m.Hooks.Printk != nil {
			c.m.Hooks.Printk(c, &c.m.kernel.Printks[op.Arg])
		}
	case OpProbe:
		t.stay.Probe(c)
	case OpHalt:
		c.halt()
		return
	}
	c.advance()
}

// advance sets the time of the current task's next operation, or leaves its
// innermost activation if that is done.
func (c *CPU) advance() {
	t := c.Current
	n := len(t.acts)
	if n == 0 {
		c.between(t)
		return
	}
	if a := &t.acts[n-1]; a.pc < len(a.code) {
		c.opDue = c.Time
		if op := &a.code[a.pc]; op.Kind != OpHalt {
			c.opDue += Time(op.Delta)
		}
		return
	}
	c.leave(t)
}

// setState makes the processor's flags those that op was seen with, on top of
// what its activation interrupted. An NMI leaves it as it was until it has said
// what it is.
func (c *CPU) setState(op *Op, a *activation) {
	if a.kind == actNMI && op.Flags&FlagNMI == 0 {
		return
	}
	seen := 1<<32 | uint64(op.Flags)<<24 | uint64(op.Preempt)<<16 | uint64(a.base.Flags)<<8 | uint64(a.base.Preempt)
	if seen == c.seen {
		return
	}
	c.change(condition{
		nmi:     op.Flags&FlagNMI != 0,
		irqsOff: op.Flags&FlagIRQsOff != 0,
		hardIRQ: op.Flags&FlagHardIRQ != 0 || a.base.Flags&FlagHardIRQ != 0,
		softIRQ: op.Flags&FlagSoftIRQ != 0 || a.base.Flags&FlagSoftIRQ != 0,
		bhOff:   op.Flags&FlagBHOff != 0 || a.base.Flags&FlagBHOff != 0,
		preempt: int(op.Preempt&0xf) + int(a.base.Preempt&0xf),
		migrate: int(op.Preempt>>4) + int(a.base.Preempt>>4),
	})
	c.seen = seen
}

// state packs the processor's flags the way operations carry them.
func (c *CPU) state() (s Op) {
	if c.IRQsOff {
		s.Flags |= FlagIRQsOff
	}
	if c.InHardIRQ {
		s.Flags |= FlagHardIRQ
	}
	if c.InSoftIRQ {
		s.Flags |= FlagSoftIRQ
	}
	if c.InNMI {
		s.Flags |= FlagNMI
	}
	if c.BHOff {
		s.Flags |= FlagBHOff
	}
	s.Preempt = uint8(c.PreemptCount&0xf | c.MigrateDisable<<4)
	return s
}

// clearState is the state of user space and of a kernel thread between two
// pieces of work.
func (c *CPU) clearState() { c.change(condition{}) }
