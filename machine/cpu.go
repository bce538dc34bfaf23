package machine

// CPU is one simulated processor.
//
// The Current task runs on it. The task has a stack of activations, which are pieces of
// kernel code in progress: for example an interrupt on top of the system call that it
// has interrupted. The processor's flags are those of the innermost activation.
type CPU struct {
	ID      int
	Time    Time // the local time of this CPU while it runs
	Current *Task

	// The state from which the flags of trace records are made (the kernel's
	// TRACE_FLAG_*). PreemptCount is the depth of preempt_disable alone; the three
	// booleans tell the softirq, hardirq and NMI contexts.
	PreemptCount                int
	MigrateDisable              int
	IRQsOff                     bool
	BHOff                       bool // bottom halves disabled, the "b" of the latency format
	NeedResched                 bool
	InSoftIRQ, InHardIRQ, InNMI bool

	m        *Machine
	seen     uint64 // the Op.state from which setState made the flags; 0: they come from elsewhere
	idle     *Task
	opDue    Time // when the next step of Current is due
	presence presence
	halted   bool // the idle task waits for an interrupt
	kicked   bool // an interrupt from another CPU is under way
	irqs     []Interrupt
	taken    irqCounts
	nmis     []Interrupt
	nmiAt    Time // when the CPU takes its next NMI; never if none is under way, or one runs
	nmiRuns  bool // the code of an NMI runs, from its first step to its last
	watchdog watchdog
	rq       []*Task   // the run queue: tasks that wait for the CPU, the next to run first
	since    Time      // when Current was switched in
	told     bool      // sched_switch has been passed, and Current is not the next task yet
	picked   Switching // the context switch that is going on, or the last one

	pulled    *CPU // from which the next task comes, until that has been reported; nil: it waited for this one
	balanceAt Time // when Unbalanced compares the CPU with others again
	uneven    bool // when it last did, another CPU had one task more

	charged   Time   // up to when the budget of the running task has been charged
	accounted Time   // up to when sched_stat_runtime has reported
	site      uint64 // an address inside the innermost function; 0: not known
	recovered int    // the index of Hooks.Recover in the walk of a stack; here, so that no walk allocates
	irqTraced bool   // hooks were told that interrupts are off
	crossing  string // the function at an edge of the kernel that switches interrupts now; "": none
	outermost uint64 // the function that left the kernel stack empty when it returned last
	pace      pace
	args      arguments
	passed    passed
}

// Machine is the machine this CPU belongs to.
func (c *CPU) Machine() *Machine { return c.m }

// Idle is the CPU's idle task, swapper/N.
func (c *CPU) Idle() *Task { return c.idle }

// due is when the CPU has its next step: its next operation or, if interrupts are
// enabled, an interrupt that comes earlier.
func (c *CPU) due() Time {
	if c.presence == absent {
		return never
	}
	due := min(c.nmiAt, c.opDue)
	if len(c.irqs) > 0 && c.irqs[0].At < due { // an interrupt is never taken earlier
		due = min(due, c.irqDue())
	}
	return max(due, c.m.smi.until)
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

// run executes what is due at c.Time. Steps of the same code that follow it are executed,
// too, for as long as they are due before limit and nothing else comes between them.
func (c *CPU) run(limit Time) {
	if c.Time < c.opDue {
		if c.nmiAt <= c.Time {
			c.takeNMI()
			return
		}
		if c.irqDue() <= c.Time {
			c.takeInterrupt()
			return
		}
	}
	t := c.Current
	if len(t.acts) == 0 {
		if c.presence == leaving && t != c.idle && !t.bound {
			c.pushAway()
			return
		}
		c.enter(t)
		return
	}
	limit = min(limit, c.nmiAt)
	if len(c.irqs) > 0 {
		limit = min(limit, c.irqs[0].At)
	}
	m, a := c.m, &t.acts[len(t.acts)-1]
	for op := &a.code[a.pc]; ; {
		a.pc++
		if op.state(a) != c.seen {
			c.setState(op, a)
		}
		switch op.Kind {
		case OpCall:
			c.call(t, &m.callees[op.Arg])
		case OpReturn:
			c.ret(t, op.Arg)
		default:
			c.do(t, a, op)
			return
		}
		if a.pc == len(a.code) {
			c.leave(t)
			return
		}
		op = &a.code[a.pc]
		due := c.Time + c.pace.takes(a, op)
		if c.opDue = due; due >= limit || m.order.moved {
			return
		}
		m.now, c.Time = due, due
		m.steps++
	}
}

// do executes a step that may change which code runs.
func (c *CPU) do(t *Task, a *activation, op *Op) {
	switch op.Kind {
	case OpUnwind:
		c.unwind(t, int(op.Arg))
	case OpTrace:
		c.perform(t, op)
	case OpSwitch:
		c.schedule(op, a)
	case OpSwitchTo:
		c.switchTo()
	case OpFinish:
		c.pushSwitch(t, c.m.kernel.Workload.Finish(c, c.picked, true), Op{})
	case OpPrintk:
		if c.m.Hooks.Printk != nil {
			c.m.Hooks.Printk(c, &c.m.kernel.Printks[op.Arg])
		}
	case OpLearned:
		c.performLearned(op)
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
		c.opDue = c.Time + c.pace.takes(a, &a.code[a.pc])
		return
	}
	c.leave(t)
}

// setState sets the processor's flags to those of op, on top of the state that its
// activation has interrupted. For an NMI, the state stays as it was until
// irqentry_nmi_enter has run.
func (c *CPU) setState(op *Op, a *activation) {
	if a.kind == actNMI && op.Flags&FlagNMI == 0 {
		return
	}
	if a.kind == actInterrupt && a.pc == 1 {
		c.crossing = intoInterrupt
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
	c.seen, c.crossing = op.state(a), ""
}

// state is the state of the processor after op in a, as one word that is not 0.
func (op *Op) state(a *activation) uint64 {
	return 1<<32 | uint64(op.Flags) | uint64(op.Preempt)<<8 | uint64(a.base.Flags)<<16 | uint64(a.base.Preempt)<<24
}

// state packs the processor's flags in the form that an Op has.
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

// clearState sets the state of user space, which is also that of a kernel thread
// between two pieces of work. What has been disabled is enabled on the way back. An idle
// loop never enables preemption.
//
// Kernel: init_idle_preempt_count, arch/x86/include/asm/preempt.h.
func (c *CPU) clearState() {
	switch t := c.Current; {
	case t == c.idle && len(t.stay.Code) > 0:
		c.change(condition{preempt: 1})
		return
	case t.Kernel:
	case t.returns:
		c.crossing = outOfSyscall
	default:
		c.crossing = outToUser
	}
	c.change(condition{})
	c.crossing = ""
}
