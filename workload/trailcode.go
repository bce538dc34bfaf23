package workload

import (
	"slices"

	"ftracelab/machine"
)

// trailStay is a stay of a trail, as it is executed.
type trailStay struct {
	machine.Stay
	cost  machine.Time // how long its code takes
	sleep bool         // the task sleeps in the stay
	yield bool         // the stay is about giving the CPU to another task
	dies  bool         // the process ends in the stay
	exec  bool         // the process executes a program in the stay
}

// trailBuilder makes the code of trails, that of each stay when it is first needed.
type trailBuilder struct {
	followed
	w    *mix
	tr   *Trails
	made []*trailStay // by number
	code machine.Code
	open []int32 // the sites of the functions that are open
	off  bool    // __schedule runs
}

func (b *trailBuilder) op(kind machine.OpKind, arg int32) {
	op := machine.Op{Kind: kind, Arg: arg, Delta: trailCost}
	if b.off {
		op.Flags, op.Preempt = machine.FlagIRQsOff, 1
	}
	b.code = append(b.code, op)
}

func (b *trailBuilder) trace(e machine.Event, arg int32) {
	b.op(machine.OpTrace, arg)
	b.code[len(b.code)-1].Event = e
}

func (b *trailBuilder) pop(depth int) {
	for len(b.open) > depth {
		b.op(machine.OpReturn, 0)
		b.open = b.open[:len(b.open)-1]
	}
}

// at gives the stay with that number.
func (b *trailBuilder) at(i int32) *trailStay {
	if s := b.made[i]; s != nil {
		return s
	}
	paths := b.tr.Stays[i]
	s := new(trailStay)
	s.Stay, s.exec = b.stay(paths)
	s.cost = costOf(s.Code)
	b.w.model.vals.Assign(s.Code, b.sites)
	if last := &b.tr.Paths[paths[len(paths)-1]]; last.End == SwitchEnd {
		how := endOf(int64(last.Arg))
		s.sleep, s.yield, s.dies = how == sleepsNow, how == goesOn, how == dies
	}
	b.made[i] = s
	return s
}

// stay makes the stay with these paths, and reports whether the process executes a program.
func (b *trailBuilder) stay(paths []int32) (s machine.Stay, executes bool) {
	b.code = nil
	for _, at := range paths {
		b.path(&b.tr.Paths[at])
	}
	if b.blended {
		executes = b.bear(paths)
	}
	b.pop(0)
	s = machine.Stay{Kind: machine.KernelWork, NR: -1, Code: b.code}
	switch name := b.tr.Names[b.tr.Sites[b.tr.Paths[paths[0]].Sites[0]].Func]; name {
	case "entry_SYSCALL_64_after_hwframe":
		s.Kind = machine.Syscall
		s.NR = int64(b.tr.Paths[paths[0]].NR)
		if s.NR < 0 && b.blended {
			s.NR = b.likelyCall(paths[0])
		}
		s.Code = b.w.crossing(s.Code)
	case "asm_exc_page_fault":
		s.Kind, s.Address, s.ErrorCode = machine.PageFault, 0x7f3be8000000, 6
	}
	return s, executes
}

// likelyCall is the number of a system call whose stack does not show which it is, because
// it has returned from there: mostly a close if a file is given up, and else a read.
func (b *trailBuilder) likelyCall(path int32) int64 {
	if slices.ContainsFunc(b.tr.Paths[path].Sites, func(s int32) bool { return b.tr.Names[b.tr.Sites[s].Func] == "__fput" }) {
		return sysClose
	}
	return sysRead
}

// path goes from where the code is to the end of p.
func (b *trailBuilder) path(p *TrailPath) {
	n := 0
	for n < len(p.Sites)-1 && n < len(b.open) && b.open[n] == p.Sites[n] {
		n++
	}
	b.pop(n)
	for i, at := range p.Sites[n:] {
		last := n+i == len(p.Sites)-1
		b.off = last && p.End == SwitchEnd
		b.op(machine.OpCall, b.site+at)
		b.open = append(b.open, at)
		switch name := b.tr.Names[b.tr.Sites[at].Func]; {
		case name == "do_task_dead":
			b.code[len(b.code)-1].Preempt = 1 // do_exit has disabled preemption
		case name == "exc_page_fault" && n+i == 1:
			b.trace(machine.EvPageFaultUser, 0)
		case name == "do_exit" && p.End == SwitchEnd && endOf(int64(p.Arg)) == dies:
			b.trace(machine.EvSchedExit, 0)
		}
	}
	switch p.End {
	case AllocEnd:
		b.trace(machine.EvKmemCacheAlloc, b.slab+p.Arg)
	case SwitchEnd:
		b.op(machine.OpSwitch, p.Arg)
		b.pop(len(b.open) - 1)
		b.off = false
	}
}

// costOf is how long code takes, without what is executed in between.
func costOf(code machine.Code) (ns machine.Time) {
	for i := range code {
		if code[i].Kind != machine.OpHalt {
			ns += machine.Time(code[i].Delta)
		}
	}
	return ns
}
