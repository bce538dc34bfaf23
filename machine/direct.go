package machine

// Direct is a direct trampoline: while a module is loaded, the kernel calls a function
// of the module at the entry of one of its own functions, without ftrace in between.
//
// Departure: it takes no time, and the trampoline's own frame is not on the stack.
//
// Kernel: register_ftrace_direct, kernel/trace/ftrace.c.
type Direct struct {
	At         string // the kernel's function
	Trampoline string // a function of the module, of which only the address is used
	Func       string // the function that the trampoline calls
	// Say gives what Func prints with trace_printk; false: it prints nothing.
	Say func(c *CPU) (Printk, bool)

	trampoline, fn Symbol // set while the module is loaded
}

// found remembers s if it is one of d's functions.
func (d *Direct) found(s *Symbol) {
	switch s.Name {
	case d.Func:
		d.fn = *s
	case d.Trampoline:
		s.Traceable = false // it is written in assembler
		d.trampoline = *s
	}
}

// To is the trampoline, while the module is loaded.
func (d *Direct) To() Symbol { return d.trampoline }

// CallDirect calls d.Func at the entry of a function. A Call hook may call it.
func (c *CPU) CallDirect(d *Direct) {
	const callAt = 0x1c // somewhere in the function
	c.call(c.Current, c.m.callee(Site{Func: d.fn.Addr, Ret: pointIn(d.trampoline.Addr)}))
	if p, ok := d.Say(c); ok && c.m.Hooks.Printk != nil {
		p.IP = d.fn.Addr + callAt
		c.m.Hooks.Printk(c, &p)
	}
	c.ret(c.Current, 0)
}

// CallWith makes the running task call a function of the kernel from caller, with a
// string as its first argument. Call it between two steps, for what the kernel does for
// a user of the tracefs.
//
// Departure: the call is made by the task that happens to run on c, not by the task that
// uses the tracefs. It takes no time, and the function calls no others.
func (c *CPU) CallWith(caller, callee, text string) {
	s, ok := c.m.kallsyms.ByName(callee)
	if !ok {
		return
	}
	c.Time = max(c.Time, c.m.now)
	c.passed = passed{fn: s.Addr, text: text}
	c.call(c.Current, c.m.callee(Site{Func: s.Addr, Ret: c.m.ReturnAddress(caller, callee)}))
	c.ret(c.Current, 0)
	c.passed = passed{}
}

// passed is the argument of a CallWith in progress.
type passed struct {
	fn   uint64
	text string
}

// Passed is the string with which CallWith has called the innermost function.
func (c *CPU) Passed(f *Frame) (text string, ok bool) {
	return c.passed.text, c.passed.fn == f.Func && f.Func != 0
}

// FaultAddress gives the address of the page fault that is being handled, and the
// processor's error code.
func (c *CPU) FaultAddress() (addr, errorCode uint64) {
	return c.Current.stay.Address, c.Current.stay.ErrorCode
}

// Wakee is the task that the function being entered is about to wake, which is the
// argument of wake_up_process; nil if it wakes none.
//
// Departure: the result is nil also if the task is awake, while in a kernel
// wake_up_process always has an argument.
func (c *CPU) Wakee() *Task {
	op := c.ahead(EvSchedWaking, EvSchedWaking)
	if op == nil {
		return nil
	}
	a := &c.Current.acts[len(c.Current.acts)-1]
	if a.next == nil {
		a.next = c.chooseWakee(a, op.Arg)
	}
	return a.next
}

// ahead finds the first step, in the function being entered, with an event between
// first and last; nil if there is none before the function returns or sleeps.
func (c *CPU) ahead(first, last Event) *Op {
	t := c.Current
	if len(t.acts) == 0 {
		return nil
	}
	a := &t.acts[len(t.acts)-1]
	depth := 0
	for i := a.pc; i < len(a.code); i++ {
		switch op := &a.code[i]; op.Kind {
		case OpCall:
			depth++
		case OpReturn:
			if depth--; depth < 0 {
				return nil
			}
		case OpUnwind:
			if depth -= int(op.Arg); depth < 0 {
				return nil
			}
		case OpTrace:
			if op.Event >= first && op.Event <= last {
				return op
			}
		case OpSwitch, OpHalt:
			return nil
		}
	}
	return nil
}

// Allocates tells what the function being entered will allocate; ok is false if it
// allocates nothing.
func (c *CPU) Allocates() (s Slab, ok bool) { return c.slabAhead(EvKmalloc, EvKmemCacheAlloc) }

// Frees tells which object the function being entered will free, and its address.
func (c *CPU) Frees() (s Slab, addr uint64, ok bool) {
	if s, ok = c.slabAhead(EvKfree, EvKmemCacheFree); ok {
		addr = c.m.slab.last(int(s.Kind), uint64(s.Alloc))
	}
	return s, addr, ok
}

// slabAhead finds the operand of the slab event that follows in the function being
// entered.
func (c *CPU) slabAhead(one, other Event) (s Slab, ok bool) {
	op := c.ahead(EvKmalloc, EvKmemCacheFree)
	if op == nil || op.Event != one && op.Event != other || int(op.Arg) >= len(c.m.kernel.Slabs) {
		return Slab{}, false
	}
	return c.m.kernel.Slabs[op.Arg], true
}

// chooseWakee chooses the task that a wake-up of that class wakes: the one for which
// the interrupt came, or the one that the workload names.
func (c *CPU) chooseWakee(a *activation, class int32) *Task {
	if who := a.irq.Task; who != nil && who.sleeps == a.irq.sleep && who.asleep() {
		return who
	}
	return c.m.kernel.Workload.Wakee(c, class)
}
