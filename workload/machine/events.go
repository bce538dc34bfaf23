package machine

import "fmt"

// performSimple reports an event that changes nothing in the machine.
func (c *CPU) performSimple(t *Task, a *activation, op *Op) {
	switch e := op.Event; e {
	case EvIRQHandlerEntry:
		c.args.irqEntry = IRQHandlerEntry{IRQ: a.irq.IRQ, Name: a.irq.Name}
		c.report(e, &c.args.irqEntry)
	case EvIRQHandlerExit:
		c.args.irqExit = IRQHandlerExit{IRQ: a.irq.IRQ, Ret: 1}
		c.report(e, &c.args.irqExit)
	case EvSoftIRQRaise, EvSoftIRQEntry, EvSoftIRQExit:
		c.args.softirq = SoftIRQ{ID: e, Vec: uint32(op.Arg)}
		c.report(e, &c.args.softirq)
	case EvHRTimerInit, EvHRTimerStart, EvHRTimerCancel, EvHRTimerExpireEntry, EvHRTimerExpireExit:
		c.reportHRTimer(t, a, e)
	case EvTimerInit, EvTimerStart, EvTimerCancel, EvTimerExpireEntry, EvTimerExpireExit:
		c.reportTimer(t, op)
	case EvTickStop:
		c.args.tickStop = TickStop{Success: 1, Dependency: tickDepNone}
		c.report(e, &c.args.tickStop)
	case EvPageAlloc, EvPageFree:
		c.reportPage(op)
	case EvQueueWork, EvActivateWork, EvWorkStart, EvWorkEnd:
		fn := c.m.kallsyms.addr("vmstat_update")
		c.args.work = Work{
			ID: e, Work: 0xffff88813bc00000 + uint64(c.ID)<<18, Function: fn,
			Workqueue: "mm_percpu_wq", ReqCPU: int32(c.ID), CPU: int32(c.ID),
		}
		c.report(e, &c.args.work)
	case EvSignalGenerate, EvSignalDeliver:
		c.reportSignal(t, op)
	case EvLocalTimerEntry, EvLocalTimerExit:
		c.args.vector = Vector{ID: e, Vector: localTimerVector}
		c.report(e, &c.args.vector)
	case EvRescheduleEntry, EvRescheduleExit:
		c.args.vector = Vector{ID: e, Vector: rescheduleVector}
		c.report(e, &c.args.vector)
	case EvCallFunctionSingleEntry, EvCallFunctionSingleExit:
		c.args.vector = Vector{ID: e, Vector: callFunctionSingleVector}
		c.report(e, &c.args.vector)
	case EvSampleFooBar, EvSampleTemplateSimple, EvSampleFooBarCond, EvSampleTemplateCond, EvSampleTemplatePrint, EvSampleFooRelLoc:
		c.args.sample = Sample{ID: e, Count: op.Arg}
		c.report(e, &c.args.sample)
	default:
		panic(fmt.Sprintf("machine: invariant: operation with event %d", e))
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
func (c *CPU) Jiffies() uint64 { return initialJiffies + c.Time/tickLength }

// perCPU gives the address of a per-CPU object of the kernel.
func (c *CPU) perCPU(offset uint64) uint64 { return 0xffff88813bc00000 + uint64(c.ID)<<18 + offset }

func (c *CPU) reportHRTimer(t *Task, a *activation, e Event) {
	tick := a.kind == actInterrupt && a.irq.Kind == Tick || t == c.idle
	h := HRTimer{ID: e, Timer: c.perCPU(0x1e5a0), Function: c.m.kallsyms.addr("tick_nohz_handler"), Now: int64(c.Time)}
	h.Expires = int64((c.Time/tickLength + 1) * tickLength)
	if !tick {
		h.Timer = 0xffffc90000003d80 + uint64(t.PID)<<14
		h.Function = c.m.kallsyms.addr("hrtimer_wakeup")
		h.Expires = int64(c.Time + t.stay.Wait.Timeout)
		h.ClockID = 1
	}
	h.SoftExpires = h.Expires
	c.args.hrtimer = h
	c.report(e, &c.args.hrtimer)
}

func (c *CPU) reportTimer(t *Task, op *Op) {
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

func (c *CPU) reportPage(op *Op) {
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

func (c *CPU) reportSignal(t *Task, op *Op) {
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
