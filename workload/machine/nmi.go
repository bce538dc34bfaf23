package machine

import "slices"

// A non-maskable interrupt comes upon anything, interrupts off or on; only
// another one it does not interrupt, which then comes behind it. It does not look
// whether to reschedule.
//
//	exc_nmi
//	  irqentry_nmi_enter   in_nmi() from here on: FlagNMI of the step that leaves it
//	  default_do_nmi
//	    nmi_handle         asks all handlers, one event nmi:nmi_handler for each
//	  irqentry_nmi_exit
//
// preempt_count has NMI_OFFSET and HARDIRQ_OFFSET meanwhile, so that the latency
// format always shows Z for it: the z of an NMI without a hard interrupt cannot
// happen on this kernel.
//
// Kernel: DEFINE_IDTENTRY_RAW(exc_nmi), arch/x86/kernel/nmi.c; __nmi_enter,
// include/linux/hardirq.h.

// nmiHandlers are the registered handlers, in the order in which they are asked.
//
// Kernel: init_hw_perf_events, arch/x86/events/core.c;
// register_nmi_cpu_backtrace_handler, arch/x86/kernel/apic/hw_nmi.c.
var nmiHandlers = [...]string{"perf_event_nmi_handler", "nmi_cpu_backtrace_handler"}

// NMIHandlers names the functions that are asked whether an NMI is theirs.
func NMIHandlers() []string { return slices.Clone(nmiHandlers[:]) }

// Operands of EvNMIHandler.
const nmiAsks = -1

// Ask adds the call of the handler that is n-th of NMIHandlers: body is what it does,
// handled how many NMIs it says were its own.
func (a *Assembler) Ask(n int, handled int32, body func(*Assembler)) *Assembler {
	a.Trace(EvNMIHandler, nmiAsks).Call(nmiHandlers[n])
	body(a)
	return a.Return(1).Trace(EvNMIHandler, handled*int32(len(nmiHandlers))+int32(n))
}

// performNMI is a look at the clock before a handler, or the report behind it.
func (c *CPU) performNMI(a *activation, op *Op) {
	if op.Arg == nmiAsks {
		a.asked = c.Time
		return
	}
	if !c.on(EvNMIHandler) {
		return
	}
	n := op.Arg % int32(len(nmiHandlers))
	c.args.nmi = NMIHandler{
		Handler: c.m.kallsyms.addr(nmiHandlers[n]), Delta: int64(c.Time - a.asked), Handled: op.Arg / int32(len(nmiHandlers)),
	}
	c.report(EvNMIHandler, &c.args.nmi)
}

// SendNMI lets c take an NMI of that kind as soon as one gets there.
//
// Kernel: __apic_send_IPI_mask with NMI_VECTOR, arch/x86/kernel/apic.
func (c *CPU) SendNMI(kind InterruptKind) {
	if c.Online() {
		c.nmis = append(c.nmis, Interrupt{At: c.m.now + ipiLatency, Kind: kind})
		c.nmiChanged()
	}
}

// watchdog is a counter of a CPU's cycles, which stands still while it halts. It
// raises an NMI when it overflows.
type watchdog struct {
	at   Time // when it does, if the CPU does not halt before; never if it halts
	left Time // then: until it would
}

// SetNMIWatchdog makes every CPU take an NMI each time it has run for period; 0
// ends that. The counters begin within a millisecond, as chance will have it.
//
// Kernel: watchdog_hardlockup_enable, kernel/watchdog_perf.c.
func (m *Machine) SetNMIWatchdog(period Time) {
	m.watchPeriod = period
	for _, c := range m.cpus {
		c.watchdog = watchdog{at: never}
		c.nmiChanged()
		if period == 0 {
			continue
		}
		c.watchdog.left = period + m.Rand("nmi watchdog").Uint64N(Millisecond)
		if !c.halted {
			c.watchdog.run(c)
		}
	}
}

// NMIWatchdog is the period that SetNMIWatchdog was given.
func (m *Machine) NMIWatchdog() Time { return m.watchPeriod }

func (w *watchdog) run(c *CPU) {
	if c.m.watchPeriod > 0 {
		w.at = c.Time + w.left
		c.nmiChanged()
	}
}

func (w *watchdog) halt(c *CPU) {
	if w.at != never {
		w.at, w.left = never, w.at-min(c.Time, w.at)
		c.nmiChanged()
	}
}

// nmiChanged sets when c takes its next NMI: not while one runs.
func (c *CPU) nmiChanged() {
	at := c.watchdog.at
	if len(c.nmis) > 0 {
		at = min(at, c.nmis[0].At)
	}
	if c.nmiRuns {
		at = never
	}
	c.nmiAt = max(at, c.Time)
}

// takeNMI puts the handler of the earliest NMI on top of what runs.
//
// Departure: what an NMI in user space wants done on the way back there happens at
// its end. A kernel's sends itself an interrupt (irq_work), which does it.
func (c *CPU) takeNMI() {
	irq := Interrupt{At: c.watchdog.at, Kind: WatchdogNMI}
	if len(c.nmis) > 0 && c.nmis[0].At <= irq.At {
		irq = c.nmis[0]
		c.nmis = slices.Delete(c.nmis, 0, 1)
	} else {
		c.watchdog.at = c.Time + c.m.watchPeriod
	}
	irq.From = c.origin()
	code := c.m.kernel.Workload.Interrupt(c, irq)
	c.nmiRuns = len(code) > 0
	c.nmiChanged()
	if !c.nmiRuns {
		return
	}
	if irq.From == InUser {
		c.crossIn(c.Current)
	}
	c.push(activation{code: code, kind: actNMI, irq: irq, base: c.state()})
}

// leaveNMI goes back to what an NMI came upon.
//
// Kernel: the end of asm_exc_nmi, arch/x86/entry/entry_64.S, which does without
// exit_to_user_mode_prepare.
func (c *CPU) leaveNMI(t *Task, a *activation) {
	c.nmiRuns = false
	c.nmiChanged()
	if a.irq.From == InUser {
		t.userLeft = a.left
		c.between(t)
		return
	}
	c.resume(t, a)
}

// crossNMI changes the CPU's condition where an NMI has begun or is about to end.
// The count of preemption is changed without telling anybody. That interrupts are
// off is told, but never that they are on again (a kernel without
// CONFIG_PROVE_LOCKING does not know that they were): for the latency tracers they
// are off until they are next switched on somewhere else.
//
// Kernel: irqentry_nmi_enter and irqentry_nmi_exit, kernel/entry/common.c.
func (c *CPU) crossNMI(to condition) {
	if !to.nmi && c.m.Hooks.NMI != nil {
		c.m.Hooks.NMI(c, false)
	}
	c.apply(to)
	if to.nmi && (c.m.Hooks.Critical != nil || c.m.watched) {
		c.critical(EvIRQDisable)
	}
	if to.nmi && c.m.Hooks.NMI != nil {
		c.m.Hooks.NMI(c, true)
	}
}
