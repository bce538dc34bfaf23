package machine

// The events in this file change only what they themselves report. So nothing is done if
// nobody listens.

func (c *CPU) performSysEnter(t *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.sysEnter = SysEnter{NR: t.stay.NR, Args: t.stay.Args}
		c.report(op.Event, &c.args.sysEnter)
	}
}

func (c *CPU) performSysExit(t *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.sysExit = SysExit{NR: t.stay.NR, Ret: t.stay.Ret}
		c.report(op.Event, &c.args.sysExit)
	}
}

func (c *CPU) performFault(t *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.fault = PageFaultArgs{ID: op.Event, Address: t.stay.Address, IP: t.User.IP, ErrorCode: t.stay.ErrorCode}
		c.report(op.Event, &c.args.fault)
	}
}

func (c *CPU) performIRQEntry(_ *Task, a *activation, op *Op) {
	if c.on(op.Event) {
		c.args.irqEntry = IRQHandlerEntry{IRQ: a.irq.IRQ, Name: a.irq.Name}
		c.report(op.Event, &c.args.irqEntry)
	}
}

func (c *CPU) performIRQExit(_ *Task, a *activation, op *Op) {
	if c.on(op.Event) {
		c.args.irqExit = IRQHandlerExit{IRQ: a.irq.IRQ, Ret: int(max(op.Arg, 1))}
		c.report(op.Event, &c.args.irqExit)
	}
}

func (c *CPU) performSoftIRQ(_ *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.softirq = SoftIRQ{ID: op.Event, Vec: uint32(op.Arg)}
		c.report(op.Event, &c.args.softirq)
	}
}

func (c *CPU) performTickStop(_ *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.tickStop = TickStop{Success: 1, Dependency: tickDepNone}
		c.report(op.Event, &c.args.tickStop)
	}
}

func (c *CPU) performWork(_ *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.work = Work{
			ID: op.Event, Work: 0xffff88813bc00000 + uint64(c.ID)<<18, Function: c.m.kallsyms.addr("vmstat_update"),
			Workqueue: "mm_percpu_wq", ReqCPU: int32(c.ID), CPU: int32(c.ID),
		}
		c.report(op.Event, &c.args.work)
	}
}

// performVector reports the entry to a system vector, or the exit from it.
func performVector(vector int32) func(*CPU, *Task, *activation, *Op) {
	return func(c *CPU, _ *Task, _ *activation, op *Op) {
		if c.on(op.Event) {
			c.args.vector = Vector{ID: op.Event, Vector: vector}
			c.report(op.Event, &c.args.vector)
		}
	}
}

func (c *CPU) performSample(_ *Task, _ *activation, op *Op) {
	if c.on(op.Event) {
		c.args.sample = Sample{ID: op.Event, Count: op.Arg}
		c.report(op.Event, &c.args.sample)
	}
}

// Vectors of x86 (arch/x86/include/asm/irq_vectors.h), and TICK_DEP_MASK_NONE.
const (
	localTimerVector         = 0xec
	rescheduleVector         = 0xfd
	callFunctionSingleVector = 0xfb
	tickDepNone              = 0
)

// hz is the tick rate, CONFIG_HZ.
const hz = 250

// tickLength is one jiffy.
const tickLength = Second / hz

// initialJiffies is INITIAL_JIFFIES: five minutes before the 32 bit counter wraps.
const initialJiffies = 1<<32 - 300*hz

// Jiffies is the kernel's count of ticks.
func (c *CPU) Jiffies() uint64 { return JiffiesAt(c.Time) }

// perCPU gives the address of a per-CPU object of the kernel.
func (c *CPU) perCPU(offset uint64) uint64 { return 0xffff88813bc00000 + uint64(c.ID)<<18 + offset }

func (c *CPU) performHRTimer(t *Task, a *activation, op *Op) {
	if !c.on(op.Event) {
		return
	}
	tick := a.kind == actInterrupt && a.irq.Kind == Tick || t == c.idle
	h := HRTimer{ID: op.Event, Timer: c.perCPU(0x1e5a0), Function: c.m.kallsyms.addr("tick_nohz_handler"), Now: int64(c.Time)}
	h.Expires = int64((c.Time/tickLength + 1) * tickLength)
	if !tick {
		h.Timer = 0xffffc90000003d80 + uint64(t.PID)<<14
		h.Function = c.m.kallsyms.addr("hrtimer_wakeup")
		h.Expires = int64(c.Time + t.stay.Wait.Timeout)
		h.ClockID = 1
	}
	h.SoftExpires = h.Expires
	c.args.hrtimer = h
	c.report(op.Event, &c.args.hrtimer)
}

func (c *CPU) performTimer(t *Task, _ *activation, op *Op) {
	if !c.on(op.Event) {
		return
	}
	now := c.Jiffies()
	c.args.timer = Timer{
		ID: op.Event, Timer: 0xffffc90000003c00 + uint64(t.PID)<<14,
		Function: c.m.kallsyms.addr("process_timeout"), Expires: now + 1, BucketExpiry: now + 2,
		Now: now, BaseClk: now, Flags: uint32(c.ID) | uint32(now&63)<<22,
	}
	c.report(op.Event, &c.args.timer)
}

// The page frames that the machine hands out: where they begin, and how many there are.
const (
	firstPFN  = 0x100000
	pageCount = 0x8000
)

func (c *CPU) performPage(_ *Task, _ *activation, op *Op) {
	if !c.on(op.Event) {
		return
	}
	order := uint32(op.Arg)
	pages := uint64(1) << order
	if op.Event == EvPageAlloc {
		c.m.pages = (c.m.pages + pages) % pageCount
	}
	c.args.page = Page{ID: op.Event, PFN: firstPFN + c.m.pages&^(pages-1), Order: order, GFP: gfpUserZero}
	if op.Event == EvPageFree && c.m.pages >= pages {
		c.m.pages -= pages
	}
	c.report(op.Event, &c.args.page)
}

// gfpUserZero is GFP_HIGHUSER_MOVABLE|__GFP_ZERO, the flags with which anonymous memory
// is allocated.
const gfpUserZero = 0x100cca | 0x100

const sigchld = 17

func (c *CPU) performSignal(t *Task, _ *activation, op *Op) {
	if !c.on(op.Event) {
		return
	}
	s := Signal{ID: op.Event, Sig: sigchld, Code: 1, Task: t, Group: 1, Result: 1}
	if op.Event == EvSignalGenerate {
		s.Result = 1 // TRACE_SIGNAL_IGNORED: nobody catches it
		if t.Parent != nil {
			s.Task = t.Parent
		}
	} else {
		s.Handler, s.Flags = 0x55960365be40, 0x14000000
	}
	c.args.signal = s
	c.report(op.Event, &c.args.signal)
}

// JiffiesAt is the count of ticks at a moment.
func JiffiesAt(t Time) uint64 { return initialJiffies + t/tickLength }
