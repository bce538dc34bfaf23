package workload

import (
	"slices"

	"ftracelab/machine"
)

// weaver makes the code of a stay: the ways, and beside them what the learned code of the
// same functions does.
type weaver struct {
	*trailBuilder
	scores map[scored]int
	kind   machine.StayKind
	plain  bool                   // there is nothing beside the ways
	may    map[machine.Event]bool // what else may happen to the process and by it, once
	did    map[machine.Event]bool
}

type scored struct {
	step *step
	call call
}

// choose gives the call whose code is that of s: like, if there is one, unless another one
// comes to more of the functions on the ways.
func (w *weaver) choose(s *step, like call, ok bool) (call, bool) {
	if w.plain {
		return like, false
	}
	most := -1
	if ok {
		most = w.score(s, like)
		if most == s.size() {
			return like, true
		}
	}
	state := w.state()
	for _, c := range w.loom.of(s.fn) {
		if ok && !w.loom.sameState(like, c) || !ok && stateOf(*w.loom.op(c)) != state {
			continue
		}
		if n := w.score(s, c); n > most {
			most, like, ok = n, c, true
		}
	}
	return like, ok && (most > 0 || len(s.calls) == 0)
}

// state is that of the processor now.
func (w *weaver) state() [2]uint8 {
	if len(w.code) == 0 {
		return [2]uint8{}
	}
	return stateOf(w.code[len(w.code)-1])
}

// put adds an operation in a state.
func (w *weaver) put(op machine.Op, state [2]uint8) {
	op.Flags, op.Preempt = state[0], state[1]
	w.code = append(w.code, op)
}

// bare reports whether a function at a depth has nothing beside the ways: mix adds the way
// into a system call and out of it (crossing).
func bare(kind machine.StayKind, depth int) bool {
	return depth < 2 && kind == machine.Syscall || depth < 1
}

// weave adds the step s. chain are the calls in the learned code that lead to it; the last
// one stands for it.
func (w *weaver) weave(s *step, chain []call, depth int) {
	enter, leave := machine.Op{Kind: machine.OpCall, Arg: w.site + s.site, Delta: trailCost}, machine.Op{Kind: machine.OpReturn, Delta: trailCost}
	in := w.state()
	out := in
	if len(chain) > 1 {
		w.jumps(chain, s)
	}
	var like call
	if n := len(chain) - 1; n >= 0 {
		like = chain[n]
		first, last := w.loom.op(like), &w.loom.codes[like.template][like.end]
		in, out = stateOf(*first), stateOf(*last)
		enter.Delta, leave.Delta = first.Delta, last.Delta
		if n > 0 {
			enter.Arg = first.Arg // it is a jump
		}
	}
	name := w.tr.Names[w.tr.Sites[s.site].Func]
	switched := s.last && s.end == SwitchEnd
	if switched {
		in = [2]uint8{machine.FlagIRQsOff, 1}
		out = in
	}
	if name == "do_task_dead" {
		in[1] = 1 // do_exit has disabled preemption
	}
	w.put(enter, in)
	if name == "exc_page_fault" && depth == 1 {
		w.trace(machine.EvPageFaultUser, 0)
	}
	if switched {
		w.put(machine.Op{Kind: machine.OpSwitch, Arg: s.arg, Delta: trailCost}, in)
	} else {
		from := len(w.code)
		w.inside(s, like, len(chain) > 0, depth)
		if name == "exc_page_fault" && depth > 1 {
			w.faultsInKernel(from)
		}
	}
	for _, at := range births {
		if name == at.in && w.may[at.event] && !w.did[at.event] {
			w.bear(at.event)
		}
	}
	if s.last && s.end == AllocEnd {
		w.trace(machine.EvKmemCacheAlloc, w.slab+s.arg)
	}
	w.put(leave, out)
	for i := len(chain) - 2; i >= 0; i-- {
		w.code = append(w.code, w.loom.codes[chain[i].template][chain[i].end])
	}
}

// faultsInKernel adds the event of a page fault that kernel code causes, unless the learned
// code has it.
func (w *weaver) faultsInKernel(from int) {
	if slices.ContainsFunc(w.code[from:], func(op machine.Op) bool { return op.Kind == machine.OpTrace && op.Event == machine.EvPageFaultKernel }) {
		return
	}
	e := machine.Op{Kind: machine.OpTrace, Event: machine.EvPageFaultKernel, Delta: trailCost, Flags: w.code[from-1].Flags, Preempt: w.code[from-1].Preempt}
	w.code = slices.Insert(w.code, from, e)
}

// jumps adds the functions from which a process jumps to s. They return to where s does on
// the trail.
func (w *weaver) jumps(chain []call, s *step) {
	for i, c := range chain[:len(chain)-1] {
		op := *w.loom.op(c)
		if i == 0 {
			op.Arg = w.siteLike(op.Arg, w.site+s.site)
		}
		w.code = append(w.code, op)
		w.loom.each(c, func(op *machine.Op, made call) {
			switch {
			case made == chain[i+1]:
			case made.at >= 0:
				w.beside(made)
			case !onlyOnWays(*op):
				w.code = append(w.code, *op)
			}
		})
	}
}

// siteLike gives the site of a call to the function of a site, which returns to where the
// other site does.
func (b *trailBuilder) siteLike(site, other int32) int32 {
	s := b.sites()[site]
	if s.Ret == b.sites()[other].Ret && !s.Tail {
		return site
	}
	s.Ret, s.Tail = b.sites()[other].Ret, false
	at, ok := b.added[s]
	if !ok {
		at = b.w.m.AddSite(s)
		b.added[s] = at
	}
	return at
}

// bear adds the event of a process that is made or gets its program.
func (w *weaver) bear(e machine.Event) {
	w.did[e] = true
	w.trace(e, 0)
	if e == machine.EvSchedFork {
		w.did[machine.EvSchedWakeupNew] = true
		w.trace(machine.EvSchedWakeupNew, 0)
	}
}

// unlike adds a step for which the learned code of its caller has no call.
func (w *weaver) unlike(s *step, depth int) {
	if s.from != 0 && !w.plain {
		w.weave(s, w.jump(s.from, s.fn), depth)
		return
	}
	w.weave(s, nil, depth)
}

// inside adds what the function of s does. like is the learned code that was found for it.
func (w *weaver) inside(s *step, like call, ok bool, depth int) {
	like, ok = w.choose(s, like, ok)
	dies := w.may[machine.EvSchedExit] && w.tr.Names[w.tr.Sites[s.site].Func] == "do_exit"
	if !ok {
		if dies {
			w.trace(machine.EvSchedExit, 0)
		}
		for _, next := range s.calls {
			w.unlike(next, depth+1)
		}
		return
	}
	of, _ := w.align(s, like)
	at, next := 0, 0
	entered, spot := w.state(), len(w.code)
	// upTo adds the steps that like does not have, in front of step n: where the state is that
	// in which the function was entered, so behind what it locks and unlocks.
	upTo := func(n int) {
		if next == n {
			return
		}
		if w.state() == entered {
			spot = len(w.code)
		}
		rest := slices.Clone(w.code[spot:])
		for w.code = w.code[:spot]; next < n; next++ {
			w.unlike(s.calls[next], depth+1)
		}
		w.code = append(w.code, rest...)
	}
	if dies {
		direct := false
		w.loom.each(like, func(op *machine.Op, made call) {
			direct = direct || made.at < 0 && op.Kind == machine.OpTrace && op.Event == machine.EvSchedExit
		})
		if !direct {
			w.trace(machine.EvSchedExit, 0)
		}
	}
	beside := !bare(w.kind, depth)
	w.loom.each(like, func(op *machine.Op, made call) {
		if made.at < 0 {
			switch {
			case !beside:
			case !onlyOnWays(*op):
				w.code = append(w.code, *op)
			case op.Kind == machine.OpTrace && w.may[op.Event] && !w.did[op.Event]:
				w.did[op.Event] = true
				w.code = append(w.code, *op)
			}
			return
		}
		i := int(of[at]) - 1
		at++
		if i >= 0 {
			upTo(i)
			w.weave(s.calls[i], w.loom.chain(made, s.calls[i].fn), depth+1)
			next, spot = i+1, len(w.code)
		} else if beside {
			w.beside(made)
		}
		if w.state() == entered {
			spot = len(w.code)
		}
	})
	upTo(len(s.calls))
}

// beside adds a call that is not on the ways, without what must not happen there. A function
// that would be left with less than two thirds of what it does is left out.
func (w *weaver) beside(c call) {
	l := w.loom
	code := l.codes[c.template]
	if l.clean(c) {
		w.code = append(w.code, code[c.at:c.end+1]...)
		return
	}
	fn := l.fn(c)
	if fn == w.wakesNew && w.did[machine.EvSchedFork] && !w.did[machine.EvSchedWakeupNew] {
		w.did[machine.EvSchedWakeupNew] = true
		w.code = append(w.code, code[c.at:c.end+1]...)
		return
	}
	if o, ok := l.instead(c, fn); ok {
		w.code = append(append(w.code, code[c.at]), l.codes[o.template][o.at+1:o.end+1]...)
		return
	}
	from := len(w.code)
	w.code = append(w.code, code[c.at])
	whole := l.apart[c.template][c.at+1] == l.apart[c.template][c.at]
	l.each(c, func(op *machine.Op, made call) {
		switch {
		case made.at >= 0:
			w.beside(made)
		case onlyOnWays(*op):
			whole = false
		default:
			w.code = append(w.code, *op)
		}
	})
	w.code = append(w.code, code[c.end])
	if !whole || 3*(len(w.code)-from) < 2*int(c.end-c.at+1) {
		w.code = w.code[:from]
	}
}

// through reports whether one of the paths goes through a function.
func (b *trailBuilder) through(paths []int32, name string) bool {
	return slices.ContainsFunc(paths, func(p int32) bool {
		return slices.ContainsFunc(b.tr.Paths[p].Sites, func(s int32) bool { return b.tr.Names[b.tr.Sites[s].Func] == name })
	})
}

// woven makes the code of a stay with these paths,
func (b *trailBuilder) woven(paths []int32, kind machine.StayKind, nr int64, seed int) machine.Code {
	b.code = b.code[:0]
	w := &weaver{trailBuilder: b, scores: map[scored]int{}, kind: kind, may: map[machine.Event]bool{}, did: map[machine.Event]bool{}}
	last := &b.tr.Paths[paths[len(paths)-1]]
	// A process that gives its CPU to another one in a long system call does so in a stay of its
	// own. The rest of the call is in another one.
	gives := last.End == SwitchEnd && endOf(int64(last.Arg)) == goesOn && (nr == sysExecve || nr == sysExitGroup || nr == sysClone)
	w.plain = b.loom == nil || gives
	if b.blended && !gives {
		for _, at := range births {
			w.may[at.event] = b.through(paths, at.through)
		}
	}
	w.may[machine.EvSchedExit] = last.End == SwitchEnd && endOf(int64(last.Arg)) == dies
	for _, s := range b.steps(paths).calls {
		var chain []call
		if c, ok := w.like(s, nr, seed); ok {
			chain = []call{c}
		}
		w.weave(s, chain, 0)
	}
	return slices.Clone(b.code)
}

// like chooses the template for a stay: of those that come to most functions on its ways one
// by chance, by their weights.
func (w *weaver) like(s *step, nr int64, seed int) (best call, ok bool) {
	if w.plain {
		return best, false
	}
	list := w.loom.faults
	if w.kind == machine.Syscall {
		list = w.loom.byCall[nr]
	}
	most, total := -1, 0
	var same []call
	for _, i := range list {
		c, ok := w.loom.outermost(i)
		if !ok || w.loom.fn(c) != s.fn {
			continue
		}
		n := w.score(s, c)
		if n > most {
			most, total, same = n, 0, nil
		}
		if n == most {
			same, total = append(same, c), total+w.w.model.Templates[i].Weight
		}
	}
	if total == 0 {
		return best, false
	}
	n := int(uint64(seed)*0x9e3779b97f4a7c15>>33) % total
	for _, c := range same {
		if n -= w.w.model.Templates[c.template].Weight; n < 0 {
			return c, true
		}
	}
	return best, false
}
