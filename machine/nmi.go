package machine

import "slices"

// A non-maskable interrupt can interrupt anything, even if interrupts are off, except
// for another NMI; that one then follows it. At its end nobody checks whether to
// reschedule.
//
//	exc_nmi
//	  irqentry_nmi_enter   in_nmi() from here on: FlagNMI of the step that leaves it
//	  default_do_nmi
//	    nmi_handle         asks all handlers, one event nmi:nmi_handler for each
//	  irqentry_nmi_exit
//
// Meanwhile preempt_count has NMI_OFFSET and HARDIRQ_OFFSET, so the latency format
// always shows Z for it. The z of an NMI without a hard interrupt cannot occur on this
// kernel.
//
// Kernel: DEFINE_IDTENTRY_RAW(exc_nmi), arch/x86/kernel/nmi.c; __nmi_enter,
// include/linux/hardirq.h.

// nmiHandlers are the registered handlers, in the order in which they are asked.
//
// Kernel: init_hw_perf_events, arch/x86/events/core.c;
// register_nmi_cpu_backtrace_handler, arch/x86/kernel/apic/hw_nmi.c.
var nmiHandlers = [...]string{"perf_event_nmi_handler", "nmi_cpu_backtrace_handler"}

// NMIHandlers gives the names of the functions that are asked whether an NMI is theirs.
func NMIHandlers() []string { return slices.Clone(nmiHandlers[:]) }

// Operands of EvNMIHandler.
const nmiAsks = -1

// Ask adds the call of the n-th handler of NMIHandlers. body is what the handler does,
// and handled is how many NMIs it says were its own.
func (a *Assembler) Ask(n int, handled int32, body func(*Assembler)) *Assembler {
	a.Trace(EvNMIHandler, nmiAsks).Call(nmiHandlers[n])
	body(a)
	return a.Return(1).Trace(EvNMIHandler, handled*int32(len(nmiHandlers))+int32(n))
}

// performNMI notes the time before a handler, or makes the report after it.
func (c *CPU) performNMI(_ *Task, a *activation, op *Op) {
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

// SendNMI sends c an NMI of that kind. c takes it as soon as it arrives.
//
// Kernel: __apic_send_IPI_mask with NMI_VECTOR, arch/x86/kernel/apic.
func (c *CPU) SendNMI(kind InterruptKind) {
	if c.Online() {
		c.nmis = append(c.nmis, Interrupt{At: c.m.now + ipiLatency, Kind: kind})
		c.nmiChanged()
	}
}

// watchdog is a counter of a CPU's cycles, which stands still while the CPU halts. When
// it overflows, it raises an NMI.
type watchdog struct {
	at   Time // when it overflows if the CPU does not halt before; never while the CPU halts
	left Time // while the CPU halts: how much is missing until it overflows
}

// SetNMIWatchdog makes every CPU take an NMI each time it has run for period; 0 ends
// that. The counters start at random moments within a millisecond.
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

// nmiChanged sets when c takes its next NMI, which is never while one runs.
func (c *CPU) nmiChanged() {
	at := c.watchdog.at
	if len(c.nmis) > 0 {
		at = min(at, c.nmis[0].At)
	}
	if c.nmiRuns {
		at = never
	}
	c.nmiAt = max(at, c.Time)
	c.touch()
}

// takeNMI puts the handler of the earliest NMI on top of the code that runs.
//
// Departure: work that an NMI in user space leaves for the way back happens at the end
// of the NMI. In a kernel, the NMI sends an interrupt (irq_work) to its own CPU, which
// does the work.
func (c *CPU) takeNMI() {
	irq := Interrupt{At: c.watchdog.at, Kind: WatchdogNMI}
	if len(c.nmis) > 0 && c.nmis[0].At <= irq.At {
		irq = c.nmis[0]
		c.nmis = slices.Delete(c.nmis, 0, 1)
	} else {
		c.watchdog.at = c.Time + c.m.watchPeriod
	}
	irq.From = c.origin()
	c.taken.add(&irq)
	code := c.m.kernel.Workload.Interrupt(c, irq)
	c.nmiRuns = len(code) > 0
	c.nmiChanged()
	if !c.nmiRuns {
		return
	}
	if irq.From == InUser {
		c.crossIn(c.Current)
	}
	c.push(activation{code: code, exact: true, kind: actNMI, irq: irq, base: c.state()})
}

// leaveNMI goes back to what an NMI has interrupted.
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

// crossNMI changes the CPU's condition where an NMI has begun or is about to end. The
// preempt count changes without a report. It is reported that interrupts are off, but
// never that they are on again, because a kernel without CONFIG_PROVE_LOCKING does not
// know that they were on. So for the latency tracers interrupts are off until they are
// switched on somewhere else.
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
