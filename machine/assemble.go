package machine

import "fmt"

// Assembler makes kernel code from the names of functions. Its Sites become those of
// the kernel.
//
// Calls are where the kernel's code has them, as [CallSite] says. If the code has a jump, and
// nothing comes after it in the assembled function, it is a jump.
type Assembler struct {
	Sites   []Site
	Printks []Printk

	ks    *Kallsyms
	index map[Site]int32
	code  Code
	stack []uint64
	jumps map[int]uint64 // the operations that are jumps of the kernel's code; the function that jumps
	cost  uint32
	wait  uint32
	state Op
	err   error
}

// NewAssembler makes an assembler whose steps take cost nanoseconds each.
func NewAssembler(ks *Kallsyms, cost uint32) *Assembler {
	return &Assembler{ks: ks, index: map[Site]int32{}, jumps: map[int]uint64{}, cost: cost}
}

// Site returns the index of s in Sites, adding it if it is new.
func (a *Assembler) Site(s Site) int32 {
	i, ok := a.index[s]
	if !ok {
		i = int32(len(a.Sites))
		a.Sites = append(a.Sites, s)
		a.index[s] = i
	}
	return i
}

// State sets the processor's flags (Flag…) and the depths of preempt_disable and
// migrate_disable, for the steps that follow.
func (a *Assembler) State(flags uint8, preempt, migrate int) *Assembler {
	a.state = Op{Flags: flags, Preempt: uint8(preempt&0xf | migrate<<4)}
	return a
}

// Call enters a function.
func (a *Assembler) Call(name string) *Assembler { return a.enter(name, Site{}) }

// Hide enters a function that ftrace cannot see: it is on the stack but calls no hook.
func (a *Assembler) Hide(name string) *Assembler { return a.enter(name, Site{Hidden: true}) }

// Jump enters a function by a jump. The function returns to where its caller would have
// returned.
func (a *Assembler) Jump(name string) *Assembler { return a.enter(name, Site{Tail: true}) }

func (a *Assembler) enter(name string, site Site) *Assembler {
	s, ok := a.ks.ByName(name)
	if !ok {
		if a.err == nil {
			a.err = fmt.Errorf("machine: no function %q", name)
		}
		return a
	}
	site.Func = s.Addr
	if n := len(a.stack); n > 0 && !site.Tail {
		if site.Ret, site.Tail = callSite(a.ks, a.stack[n-1], s.Addr); site.Tail {
			a.jumps[len(a.code)] = a.stack[n-1]
		}
	}
	a.stack = append(a.stack, s.Addr)
	return a.add(Op{Kind: OpCall, Arg: a.Site(site)})
}

// Return leaves the innermost n functions.
func (a *Assembler) Return(n int) *Assembler {
	for range n {
		if len(a.stack) == 0 {
			if a.err == nil {
				a.err = fmt.Errorf("machine: return %d without a call", n)
			}
			return a
		}
		a.stack = a.stack[:len(a.stack)-1]
		a.add(Op{Kind: OpReturn})
	}
	return a
}

// Unwind leaves the innermost n functions at once, without returning from them.
func (a *Assembler) Unwind(n int) *Assembler {
	if n > len(a.stack) {
		if a.err == nil {
			a.err = fmt.Errorf("machine: unwind %d with %d calls", n, len(a.stack))
		}
		return a
	}
	a.stack = a.stack[:len(a.stack)-n]
	return a.add(Op{Kind: OpUnwind, Arg: int32(n)})
}

// Trace adds an event.
func (a *Assembler) Trace(e Event, arg int32) *Assembler {
	return a.add(Op{Kind: OpTrace, Event: e, Arg: arg})
}

// Switch adds a context switch that puts the task to sleep in a state (State…).
func (a *Assembler) Switch(state int32) *Assembler { return a.add(Op{Kind: OpSwitch, Arg: state}) }

// Probe calls the stay's Probe.
func (a *Assembler) Probe() *Assembler { return a.add(Op{Kind: OpProbe}) }

// Exit adds the end of a kernel thread.
//
// Kernel: kthread_exit, kernel/kthread.c, and do_exit, kernel/exit.c.
func (a *Assembler) Exit() *Assembler {
	a.State(0, 0, 0).Call("kthread_exit").Call("do_exit").Trace(EvSchedExit, 0)
	return a.Call("do_task_dead").State(FlagIRQsOff, 1, 0).Hide("__schedule").Switch(StateDead).Return(4)
}

// Wait makes the next step come ns nanoseconds later than it would.
func (a *Assembler) Wait(ns uint32) *Assembler {
	a.wait = ns
	return a
}

func (a *Assembler) add(op Op) *Assembler {
	op.Flags, op.Preempt = a.state.Flags, a.state.Preempt
	if op.Kind != OpHalt {
		op.Delta = a.cost + a.wait
	}
	a.wait = 0
	a.code = append(a.code, op)
	return a
}

// Code returns what was assembled since the last call and starts anew.
//
// The error names a function that does not exist, or says that calls and
// returns do not match.
func (a *Assembler) Code() (Code, error) {
	a.makeCalls()
	code, err := a.code, a.err
	if err == nil && len(a.stack) != 0 {
		err = fmt.Errorf("machine: %d calls without a return", len(a.stack))
	}
	a.code, a.stack, a.err, a.state = nil, nil, nil, Op{}
	clear(a.jumps)
	return code, err
}

// makeCalls makes calls of those jumps of the kernel's code that are not the last thing that
// the assembled function does.
func (a *Assembler) makeCalls() {
	var open []int // the calls that have no return yet
	for at, op := range a.code {
		switch op.Kind {
		case OpCall:
			open = append(open, at)
		case OpUnwind:
			open = open[:max(len(open)-int(op.Arg), 0)]
		case OpReturn:
			if len(open) == 0 {
				continue
			}
			call := open[len(open)-1]
			open = open[:len(open)-1]
			caller, jump := a.jumps[call]
			if jump && (at+1 == len(a.code) || a.code[at+1].Kind != OpReturn) {
				site := a.Sites[a.code[call].Arg]
				site.Tail, site.Ret = false, CallSite(a.ks, caller, site.Func)
				a.code[call].Arg = a.Site(site)
			}
		}
	}
}
