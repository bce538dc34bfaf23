package machine

// Direct is a function of a module that the kernel calls at the entry of one of its
// own, while the module is loaded: a direct trampoline, which does without ftrace.
//
// Departure: it takes no time, and the trampoline's own frame is not on the stack.
//
// Kernel: register_ftrace_direct, kernel/trace/ftrace.c.
type Direct struct {
	At         string // the kernel's function
	Trampoline string // the module's, of which only the address is of use
	Func       string // what the trampoline calls
	// Say is what Func says with trace_printk; false: nothing.
	Say func(c *CPU) (Printk, bool)

	trampoline, fn Symbol // while the module is loaded
}

// found takes note of s if it is one of d's functions.
func (d *Direct) found(s *Symbol) {
	switch s.Name {
	case d.Func:
		d.fn = *s
	case d.Trampoline:
		s.Traceable = false // it is assembler
		d.trampoline = *s
	}
}

// To is the trampoline while the module is loaded.
func (d *Direct) To() Symbol { return d.trampoline }

// CallDirect calls d.Func at the entry of a function. It is for a Call hook.
func (c *CPU) CallDirect(d *Direct) {
	const callAt = 0x1c // somewhere in the function
	c.call(c.Current, &Site{Func: d.fn.Addr, Ret: pointIn(d.trampoline.Addr)}, d.fn.IP())
	if p, ok := d.Say(c); ok && c.m.Hooks.Printk != nil {
		p.IP = d.fn.Addr + callAt
		c.m.Hooks.Printk(c, &p)
	}
	c.ret(c.Current, 0)
}

// CallWith has the running task call a function of the kernel, as caller would,
// with a string as its first argument. Call it between two steps, for what the
// kernel does on behalf of a user of the tracefs.
//
// Departure: the task is whichever runs on c, not the one that uses the tracefs. The
// call takes no time, and the function calls no other.
func (c *CPU) CallWith(caller, callee, text string) {
	s, ok := c.m.kallsyms.ByName(callee)
	if !ok {
		return
	}
	c.Time = max(c.Time, c.m.now)
	c.passed = passed{fn: s.Addr, text: text}
	c.call(c.Current, &Site{Func: s.Addr, Ret: c.m.ReturnAddress(caller, callee)}, s.IP())
	c.ret(c.Current, 0)
	c.passed = passed{}
}

// passed is the argument of CallWith while it is in progress.
type passed struct {
	fn   uint64
	text string
}

// Passed is the string that the innermost function was called with by CallWith.
func (c *CPU) Passed(f *Frame) (text string, ok bool) {
	return c.passed.text, c.passed.fn == f.Func && f.Func != 0
}

// FaultAddress is the address of the page fault that is being handled, and the
// processor's error code.
func (c *CPU) FaultAddress() (addr, errorCode uint64) {
	return c.Current.stay.Address, c.Current.stay.ErrorCode
}

// Wakee is the task that the function being entered is about to wake: its argument,
// if it is wake_up_process. Nil if it wakes nobody.
//
// Departure: a kernel's wake_up_process knows a task also where that is awake.
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

// ahead is the first step with an event from first to last that the function being
// entered comes to; nil if it comes to none before it returns or sleeps.
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

// Allocates is what the function being entered will allocate, and Frees the object that
// it will free; not ok if it does not.
func (c *CPU) Allocates() (s Slab, ok bool) { return c.slabAhead(EvKmalloc, EvKmemCacheAlloc) }

// Frees is Allocates for a function that gives an object back, which is at addr.
func (c *CPU) Frees() (s Slab, addr uint64, ok bool) {
	if s, ok = c.slabAhead(EvKfree, EvKmemCacheFree); ok {
		addr = c.m.slab.last(int(s.Kind), uint64(s.Alloc))
	}
	return s, addr, ok
}

// slabAhead is the operand of the slab event that the function being entered comes to.
func (c *CPU) slabAhead(one, other Event) (s Slab, ok bool) {
	op := c.ahead(EvKmalloc, EvKmemCacheFree)
	if op == nil || op.Event != one && op.Event != other || int(op.Arg) >= len(c.m.kernel.Slabs) {
		return Slab{}, false
	}
	return c.m.kernel.Slabs[op.Arg], true
}

// chooseWakee is whom a wake-up of that class is for: what the interrupt came for,
// or whom the workload names.
func (c *CPU) chooseWakee(a *activation, class int32) *Task {
	if who := a.irq.Task; who != nil && who.sleeps == a.irq.sleep && who.asleep() {
		return who
	}
	return c.m.kernel.Workload.Wakee(c, class)
}
