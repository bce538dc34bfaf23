package main

import (
	"slices"
	"strings"

	"ftracelab/machine"
)

// maxCoded is how many functions that ftrace cannot see may lie between two that it sees.
const maxCoded = 5

// route returns how the code of caller reaches callee: the functions on the way that ftrace
// cannot see, the outermost first, and callee last; nil if there is no way. last says that
// caller does nothing after it: only then may it jump. With visible, the way may lead through
// a function that ftrace can see. open are functions that are entered already, the outermost
// first: of ways that are equally short, one through them is taken.
//
// It is the shortest way, but for two cases. If captures show many calls of caller, the last
// step of the shortest way not among them, and that of a longer way, it is the longer one.
// And what caller jumps to may be on the way to several functions, of which callee is not the
// last one: such a way is taken if there is no other.
func (cs *callers) route(caller, callee uint64, last, visible bool, open ...uint64) []machine.Site {
	w := walk{last: last, jump: last, visible: visible, open: open}
	if way := cs.walk(caller, callee, w); way != nil || last {
		return way
	}
	w.jump = true
	if way := cs.walk(caller, callee, w); len(way) > 1 {
		return way
	}
	return nil
}

func (cs *callers) walk(caller, callee uint64, w walk) (way []machine.Site) {
	most := maxCoded
	if w.visible {
		most = 1
	}
	linked := func(via uint64) bool { return cs.link(via, callee, w.last).Func != 0 }
	seen := func(via uint64) bool { return cs.within(via, callee) != 0 || cs.jumped(via, callee) }
	for hidden := range most + 1 {
		if way == nil {
			way = cs.routeOf(caller, callee, hidden, w, linked)
		}
		if way != nil && (hidden > maxHidden || cs.calls[caller] < enough) {
			return way
		}
		if p := cs.routeOf(caller, callee, hidden, w, seen); p != nil {
			return p
		}
	}
	return way
}

// walk says which ways a search may go.
type walk struct {
	last    bool     // the function that is looked for is the last one
	jump    bool     // the first step may be a jump
	visible bool     // the way may lead through functions that ftrace can see
	open    []uint64 // functions that are entered already and may go on
}

// routeOf returns a way with as many functions in between, whose last step is one that ends
// accepts.
func (cs *callers) routeOf(caller, callee uint64, between int, w walk, ends func(via uint64) bool) []machine.Site {
	if between == 0 {
		if s := cs.link(caller, callee, w.last); ends(caller) && (w.jump || !s.Tail) {
			return []machine.Site{s}
		}
		return nil
	}
	inner := w
	inner.jump = true
	next := cs.text.branchesOf(caller).targets()
	if len(w.open) > 0 && slices.Contains(next, w.open[0]) {
		next = append([]uint64{w.open[0]}, next...)
	}
	for _, via := range next {
		s := cs.link(caller, via, w.last)
		if via == caller || via == callee || cs.traceable(via) && !w.visible || s.Tail && !w.jump {
			continue
		}
		if inner.open = nil; len(w.open) > 0 && via == w.open[0] {
			inner.open = w.open[1:]
		}
		if p := cs.routeOf(via, callee, between-1, inner, ends); p != nil {
			s.Hidden = true
			return append([]machine.Site{s}, p...)
		}
	}
	return nil
}

// jumped reports whether caller has a jump to callee, and captures show that it was taken.
func (cs *callers) jumped(caller, callee uint64) bool {
	if !slices.Contains(cs.text.branchesOf(caller).jumps, callee) {
		return false
	}
	for ret := range cs.from[callee] {
		if cs.from[caller][ret] > 0 {
			return true
		}
	}
	return false
}

// link returns the call or the jump by which caller reaches callee, without other
// functions in between. If it can do both, it is a call, unless captures show the jump and
// callee is the last one. Of several calls it is the one that captures show most often, and
// otherwise the first one. Func is 0 if there is none.
func (cs *callers) link(caller, callee uint64, last bool) machine.Site {
	if last && cs.jumped(caller, callee) {
		return machine.Site{Func: callee, Tail: true}
	}
	if ret := cs.within(caller, callee); ret != 0 {
		return machine.Site{Func: callee, Ret: ret}
	}
	b := cs.text.branchesOf(caller)
	for _, c := range b.calls {
		if c.to == callee {
			return machine.Site{Func: callee, Ret: c.ret}
		}
	}
	if slices.Contains(b.jumps, callee) {
		return machine.Site{Func: callee, Tail: true}
	}
	return machine.Site{}
}

// pointer returns the call or the jump by which caller may reach a function that its code
// does not name; nil if there is none.
func (cs *callers) pointer(caller, callee uint64, last bool) []machine.Site {
	b := cs.text.branchesOf(caller)
	if len(b.pointers) == 0 {
		if b.leaves && last {
			return []machine.Site{{Func: callee, Tail: true}}
		}
		return nil
	}
	best, most := b.pointers[0].ret, -1
	for _, p := range b.pointers {
		if n := cs.suits(p, callee); n > most {
			best, most = p.ret, n
		}
	}
	cs.users[best] = append(cs.users[best], callee)
	return []machine.Site{{Func: callee, Ret: best}}
}

// suits says how likely it is that callee is called from a place. Best is a place from which
// functions with such a name are called, as read_iter of other files, and next one that
// nothing else is known to use. A static call has one function.
func (cs *callers) suits(p pointer, callee uint64) int {
	const free = 1
	users := cs.users[p.ret]
	if len(users) == 0 {
		return free
	}
	if p.static {
		return 0
	}
	alike := 0
	for _, fn := range users {
		a, b := cs.name(fn), cs.name(callee)
		n := 0
		for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
			n++
		}
		alike = max(alike, strings.Count(a[len(a)-n:], "_"))
	}
	if alike == 0 {
		return 0
	}
	return free + alike
}
