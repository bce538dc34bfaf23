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
}

// trailBuilder makes the code of trails, that of each stay when it is first needed.
type trailBuilder struct {
	followed
	w    *mix
	tr   *Trails
	made []*trailStay // by number
	code machine.Code
	loom *loom // nil: the stays have nothing beside their ways
	// wakesNew is the function that wakes a process for the first time.
	wakesNew uint64
	faulting []machine.Code         // page faults that no trail shows
	added    map[machine.Site]int32 // call sites that the kernel had not when it was booted
}

func (b *trailBuilder) sites() []machine.Site { return b.w.m.Sites() }

// at gives the stay with that number.
func (b *trailBuilder) at(i int32) *trailStay {
	if s := b.made[i]; s != nil {
		return s
	}
	paths := b.tr.Stays[i]
	s := new(trailStay)
	s.Stay = b.stay(i)
	s.cost = costOf(s.Code)
	b.w.model.vals.Assign(s.Code, b.sites())
	for n, at := range paths {
		p := &b.tr.Paths[at]
		if p.End != SwitchEnd {
			continue
		}
		how, last := endOf(int64(p.Arg)), n == len(paths)-1
		s.sleep, s.yield, s.dies = s.sleep || how == sleepsNow, s.yield || last && how == goesOn, s.dies || how == dies
	}
	b.made[i] = s
	return s
}

// stay makes the stay with that number.
func (b *trailBuilder) stay(at int32) machine.Stay {
	paths := b.tr.Stays[at]
	s := machine.Stay{Kind: machine.KernelWork, NR: -1}
	switch name := b.tr.Names[b.tr.Sites[b.tr.Paths[paths[0]].Sites[0]].Func]; name {
	case "entry_SYSCALL_64_after_hwframe":
		s.Kind = machine.Syscall
		s.NR = int64(b.tr.Paths[paths[0]].NR)
		if s.NR < 0 && b.blended {
			s.NR = b.likelyCall(paths[0])
		}
	case "asm_exc_page_fault":
		s.Kind, s.Address, s.ErrorCode = machine.PageFault, 0x7f3be8000000, 6
	}
	s.Code = b.woven(paths, s.Kind, s.NR, int(at))
	if s.Kind == machine.Syscall {
		s.Code = b.w.crossing(s.Code)
	}
	return s
}

func (b *trailBuilder) trace(e machine.Event, arg int32) {
	op := machine.Op{Kind: machine.OpTrace, Event: e, Arg: arg, Delta: trailCost}
	if n := len(b.code) - 1; n >= 0 {
		op.Flags, op.Preempt = b.code[n].Flags, b.code[n].Preempt
	}
	b.code = append(b.code, op)
}

// likelyCall is the number of a system call whose stack does not show which it is, because
// it has returned from there: mostly a close if a file is given up, and else a read.
func (b *trailBuilder) likelyCall(path int32) int64 {
	if slices.ContainsFunc(b.tr.Paths[path].Sites, func(s int32) bool { return b.tr.Names[b.tr.Sites[s].Func] == "__fput" }) {
		return sysClose
	}
	return sysRtSigprocmask
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
