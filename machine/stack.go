package machine

import "slices"

// Frame is one kernel call in progress. Ret is the word on the stack that holds the
// address to which the function returns; a return hook may replace it, as fgraph does.
type Frame struct {
	Func uint64 // entry address
	IP   uint64 // address of the patched call: Func+4 after an endbr64, else Func
	Ret  uint64 // return address into the caller
	// Value is what the function returns. It is set in a Return hook.
	Value uint64

	orig uint64 // return address as the call instruction pushed it
	was  uint64 // what Ret was before the Call hook
	at   uint64 // see Place
	tail bool   // entered by a jump: Ret is the caller's own
	seen bool   // not hidden
	skip bool   // the call was not made (Site.Probe)
}

// Parent is the real address to which the function returns, even if it was replaced. It
// is the parent_ip of the function tracer.
func (f *Frame) Parent() uint64 { return f.orig }

// Place tells where on the task's stack the return address lies: 1 for the outermost
// function's, and more further in. A function that was entered by a jump has the return
// address of the one that jumped, so both have the same place.
func (f *Frame) Place() uint64 { return f.at }

// Replaced reports whether a hook has replaced Ret and none has put it back. If the
// function was entered by a jump, a replacement that was made in its caller's frame
// does not count.
func (f *Frame) Replaced() bool { return f.Ret != f.was }

const (
	endbrSize = 4 // endbr64 in front of the patched call (CONFIG_X86_KERNEL_IBT)
	callSize  = 5 // the patched call itself
)

// callee is a Site as a call needs it. Code comes to most sites in no order that a
// processor could foresee, so a callee is small: the addresses of a kernel's functions
// differ only in their lower halves.
type callee struct {
	fn, ret int32 // addresses, of which the upper half repeats the sign
	entry   uint8 // how far the patched call is behind fn
	tail    bool
	seen    bool // not Hidden
	probe   bool
}

// callee gives s as a call needs it.
func (m *Machine) callee(s Site) *callee {
	e := &callee{fn: int32(s.Func), ret: int32(s.Ret), entry: endbrSize, tail: s.Tail, seen: !s.Hidden, probe: s.Probe}
	if sym, ok := m.kallsyms.At(s.Func); ok && sym.Traceable {
		e.entry = uint8(sym.IP() - s.Func)
	}
	if uint64(e.fn) != s.Func || uint64(e.ret) != s.Ret {
		panic("machine: invariant: a site outside of the kernel's text")
	}
	return e
}

// addCallees is for sites that were added to the kernel.
func (m *Machine) addCallees(sites []Site) {
	for _, s := range sites {
		m.callees = append(m.callees, *m.callee(s))
	}
}

// call enters the function of s.
func (c *CPU) call(t *Task, s *callee) {
	n := len(t.frames)
	if n == cap(t.frames) {
		t.frames = slices.Grow(t.frames, 1)
	}
	t.frames = t.frames[:n+1]
	f := &t.frames[n]
	fn := uint64(s.fn)
	f.Func, f.IP, f.Value = fn, fn+uint64(s.entry), 0
	f.tail, f.seen, f.skip = false, s.seen, false
	f.at = uint64(n) + 1
	ret := uint64(s.ret)
	f.orig = ret
	if n > 0 {
		caller := &t.frames[n-1]
		if s.tail {
			ret, f.orig, f.tail, f.at = caller.Ret, caller.orig, true, caller.at
		}
		if f.orig == 0 {
			ret = pointIn(caller.Func) // this is an interrupt: it returns to the place where it came
			f.orig = ret
		}
	}
	f.Ret, f.was = ret, ret
	if s.probe && !c.m.syscallsTraced() {
		f.seen, f.skip = false, true
	}
	if f.seen && c.m.Hooks.Call != nil {
		c.site = f.IP + callSize
		c.m.Hooks.Call(c, f)
		c.site = 0
	}
}

// ret leaves the innermost function; arg tells its return value.
func (c *CPU) ret(t *Task, arg int32) {
	n := len(t.frames) - 1
	if n < 0 {
		panic("machine: invariant: return without a call")
	}
	f := &t.frames[n]
	if f.Replaced() && c.m.Hooks.Return != nil {
		f.Value = c.m.kernel.Values.value(c, arg)
		c.m.Hooks.Return(c, f)
	}
	if n == 0 {
		c.outermost = f.Func
	}
	t.frames = t.frames[:n]
}

// unwind leaves the innermost n functions without returning from them. No hook runs.
func (c *CPU) unwind(t *Task, n int) {
	if n > len(t.frames) {
		panic("machine: invariant: unwind of more functions than there are")
	}
	t.frames = t.frames[:len(t.frames)-n]
}

// Frames is the kernel call stack of the code that runs now, the outermost call first.
// It belongs to the machine and is valid until the next step.
func (c *CPU) Frames() []Frame { return c.Current.frames }

// AppendKernelStack appends the kernel stack of the running context to dst, innermost
// first, as an unwinder sees it: an address in the current function, then the return
// addresses. For a return address that was replaced, Hooks.Recover gives the original;
// without that hook, the replacement is on it. Functions that have ended with a jump are
// not on it. In a Call hook the first address is right after the
// patched call of the function being entered; at a tracepoint it is right after the call
// to the probe.
func (c *CPU) AppendKernelStack(dst []uint64) []uint64 {
	return c.appendStack(dst, c.m.Hooks.Recover)
}

// AppendStackWords appends what lies on the stack in the places of the addresses of
// [CPU.AppendKernelStack]: return addresses that were replaced are there as they are.
func (c *CPU) AppendStackWords(dst []uint64) []uint64 { return c.appendStack(dst, nil) }

func (c *CPU) appendStack(dst []uint64, recover func(t *Task, index *int, ret, place uint64) uint64) []uint64 {
	t := c.Current
	n := len(t.frames)
	for n > 0 && t.frames[n-1].skip {
		n--
	}
	if n == 0 {
		return dst
	}
	site := c.site
	if site == 0 {
		site = pointIn(t.frames[n-1].Func)
	}
	dst = append(dst, site)
	for c.recovered = 0; n > 0; {
		f := &t.frames[n-1]
		n--
		if f.skip {
			continue
		}
		// A function and those that were entered by jumps from it share a word. The
		// innermost of them has replaced it last.
		ret := f.Ret
		for ; f.tail && n > 0; n-- {
			f = &t.frames[n-1]
		}
		if f.orig == 0 {
			break
		}
		if ret != f.orig && recover != nil {
			ret = recover(t, &c.recovered, ret, f.at)
		}
		dst = append(dst, ret)
	}
	return dst
}

// pointIn gives an address inside the function at entry. It is used if no real address
// is known.
//
// Departure: a real unwinder reports the place to which the function has come. Here it
// is the end of the patched call, unless Kernel.Points has the real place from captured
// stacks.
func pointIn(entry uint64) uint64 { return entry + endbrSize + callSize }
