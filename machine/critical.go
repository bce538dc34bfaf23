package machine

import "strings"

// condition says what is switched off on a CPU, and why.
type condition struct {
	nmi, irqsOff, hardIRQ, softIRQ, bhOff bool
	preempt, migrate                      int
}

func (c *CPU) condition() condition {
	return condition{c.InNMI, c.IRQsOff, c.InHardIRQ, c.InSoftIRQ, c.BHOff, c.PreemptCount, c.MigrateDisable}
}

func (c *CPU) apply(s condition) {
	c.InNMI, c.IRQsOff, c.InHardIRQ, c.InSoftIRQ, c.BHOff = s.nmi, s.irqsOff, s.hardIRQ, s.softIRQ, s.bhOff
	c.PreemptCount, c.MigrateDisable = s.preempt, s.migrate
	c.seen = 0
}

// unpreemptible reports whether preempt_count() is not 0. It counts contexts as well.
func (s *condition) unpreemptible() bool {
	return s.preempt > 0 || s.hardIRQ || s.softIRQ || s.bhOff
}

// Unpreemptible reports whether preempt_count() is not 0, because preemption is
// disabled or the context cannot be preempted.
func (c *CPU) Unpreemptible() bool {
	s := c.condition()
	return s.unpreemptible()
}

// change gives the CPU another condition. If a tracer wants to know about it, the change
// is made in steps. First things are switched off, interrupts before preemption as in
// spin_lock_irqsave. Then things are switched on, also interrupts before preemption, as
// in spin_unlock_irqrestore; but the preemption depth of an interrupt itself ends
// before the interrupt returns.
//
// Kernel: trace_hardirqs_off and trace_preempt_off with their callers,
// kernel/trace/trace_preemptirq.c.
func (c *CPU) change(to condition) {
	if c.InNMI != to.nmi {
		c.crossNMI(to)
		return
	}
	if c.m.Hooks.Critical == nil && !c.m.watched {
		c.apply(to)
		return
	}
	from := c.condition()
	if !from.irqsOff && to.irqsOff {
		from.irqsOff = true
		c.apply(from)
		c.critical(EvIRQDisable)
	}
	if !from.unpreemptible() && to.unpreemptible() {
		irqsOff := from.irqsOff
		from = to
		from.irqsOff = irqsOff
		c.apply(from)
		c.critical(EvPreemptDisable)
	}
	on := from.irqsOff && !to.irqsOff
	if on && !from.hardIRQ {
		c.critical(EvIRQEnable)
		from.irqsOff, on = false, false
		c.apply(from)
	}
	if from.unpreemptible() && !to.unpreemptible() {
		c.critical(EvPreemptEnable)
		irqsOff := from.irqsOff
		from = to
		from.irqsOff = irqsOff
		c.apply(from)
	}
	if on {
		c.critical(EvIRQEnable)
	}
	c.apply(to)
}

// critical reports that something is switched off or on in the innermost function. If
// that is a lock function, which is small and called from everywhere, the kernel would
// like to name its caller for preemption; but without frame pointers it cannot see the
// caller. Of interrupts, only a change since the last report is reported, see idling.
//
// Kernel: tracing_irq_cpu, kernel/trace/trace_preemptirq.c; CALLER_ADDR0 and get_lock_parent_ip, include/linux/ftrace.h.
func (c *CPU) critical(e Event) {
	switch {
	case e == EvIRQDisable && c.irqTraced, e == EvIRQEnable && !c.irqTraced:
		return
	case e == EvIRQDisable, e == EvIRQEnable:
		c.irqTraced = !c.irqTraced
	}
	p := &c.args.preemptIRQ
	*p = PreemptIRQ{ID: e, IP: c.place()}
	preempt := e == EvPreemptDisable || e == EvPreemptEnable
	if preempt && !c.m.kallsyms.inLock(p.IP) {
		p.IP = c.aboveSchedule(p.IP)
		p.Parent = p.IP
	}
	off := e == EvIRQDisable || e == EvPreemptDisable
	if off && c.m.Hooks.Critical != nil {
		c.m.Hooks.Critical(c, p)
	}
	if c.on(e) {
		c.report(e, p)
	}
	if !off && c.m.Hooks.Critical != nil {
		c.m.Hooks.Critical(c, p)
	}
}

// idling reports that the idle task begins or ends its wait. The processor waits with
// interrupts enabled, which only an event tells; that they are disabled afterwards,
// nothing does.
//
// Kernel: ct_cpuidle_enter with stop_critical_timings and start_critical_timings in
// default_idle_call, kernel/sched/idle.c.
func (c *CPU) idling(halted bool) {
	if c.m.Hooks.Idle == nil && !c.m.watched {
		return
	}
	ip := c.place()
	if fn := c.m.kallsyms.addr("default_idle_call"); fn != 0 {
		ip = pointIn(fn)
	}
	if halted && c.irqTraced {
		c.irqTraced = false
		if c.on(EvIRQEnable) {
			c.args.preemptIRQ = PreemptIRQ{ID: EvIRQEnable, IP: ip}
			c.report(EvIRQEnable, &c.args.preemptIRQ)
		}
	}
	if c.m.Hooks.Idle != nil {
		c.m.Hooks.Idle(c, halted, ip)
	}
}

// The functions in which interrupts are switched on the way into the kernel and out of
// it. Nothing calls a hook there, so they are on no stack.
//
// Departure: the kernel's stack walk finds them, as it does not need hooks.
const (
	intoInterrupt = "irqentry_enter"
	outOfKernel   = "irqentry_exit" // from an interrupt to kernel code
	outToUser     = "irqentry_exit_to_user_mode"
	outOfSyscall  = "syscall_exit_to_user_mode"
)

// aboveSchedule gives the place to which preemption in schedule is ascribed: captures name
// its caller there.
func (c *CPU) aboveSchedule(ip uint64) uint64 {
	fs := c.Current.frames
	if fn, ok := c.m.kallsyms.At(ip); !ok || fn.Name != "schedule" || len(fs) < 2 {
		return ip
	}
	return pointIn(fs[len(fs)-2].Func)
}

// place is an address in the innermost function that runs. After the last return to
// user space, it is one in the function that has returned.
func (c *CPU) place() uint64 {
	if c.crossing != "" {
		if fn := c.m.kallsyms.addr(c.crossing); fn != 0 {
			return pointIn(fn)
		}
	}
	fs := c.Current.frames
	for n := len(fs) - 1; n >= 0; n-- {
		if !fs[n].skip {
			return pointIn(fs[n].Func)
		}
	}
	if c.outermost == 0 {
		return 0
	}
	return pointIn(c.outermost)
}

// inLock reports whether addr is in a function of the section .spinlock.text.
//
// Kernel: in_lock_functions, kernel/locking/spinlock.c.
func (k *Kallsyms) inLock(addr uint64) bool {
	s, ok := k.At(addr)
	return ok && (strings.HasPrefix(s.Name, "_raw_spin_") || strings.HasPrefix(s.Name, "_raw_read_") || strings.HasPrefix(s.Name, "_raw_write_"))
}
