package workload

import (
	"slices"
	"strconv"
	"strings"

	"ftracelab/machine"
)

// loom has the calls of the learned system calls and page faults, by function. From them
// comes what a process on a trail does beside its ways.
type loom struct {
	codes  []machine.Code // by template; nil for one of another kind
	ends   [][]int32      // for each call in a template, where it returns
	jumps  [][]int32      // for each call, the jump to another function that it makes, or 0
	apart  [][]int32      // how many operations before this one are not for beside a way
	sites  []machine.Site // of the model
	calls  map[uint64][]call
	byCall map[int64][]int // the templates of a system call
	faults []int
}

// call is a call in a template: the operations from at to end.
type call struct {
	template, at, end int32
}

// newLoom reads the templates. kept says which functions are only called on ways.
func newLoom(m *Model, kept func(fn uint64) bool) *loom {
	n := len(m.Templates)
	l := &loom{
		codes: make([]machine.Code, n), ends: make([][]int32, n), jumps: make([][]int32, n), apart: make([][]int32, n), sites: m.Sites,
		calls: map[uint64][]call{}, byCall: map[int64][]int{},
	}
	for i := range m.Templates {
		key := m.Templates[i].Key
		if text, ok := strings.CutPrefix(key, "sys "); ok {
			nr, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				panic("workload: invariant: the template " + key) // it is embedded
			}
			l.byCall[nr] = append(l.byCall[nr], i)
		} else if key == "fault" {
			l.faults = append(l.faults, i)
		} else {
			continue
		}
		l.add(int32(i), m.code(i), kept)
	}
	return l
}

// onlyOnWays reports whether an operation changes what other tasks do or what the process
// is. It happens on a trail only where the trail says so. The same is true of allocations of
// a cache, because the trails have all of them.
func onlyOnWays(op machine.Op) bool {
	switch op.Kind {
	case machine.OpCall, machine.OpReturn, machine.OpLearned:
		return false
	case machine.OpTrace:
		switch op.Event {
		case machine.EvSchedWaking, machine.EvSchedWakeup, machine.EvSchedWakeupNew, machine.EvSchedFork, machine.EvSchedExec,
			machine.EvSchedExit, machine.EvSysEnter, machine.EvSysExit, machine.EvPageFaultUser, machine.EvKmemCacheAlloc:
			return true
		}
		return false
	}
	return true
}

func (l *loom) add(template int32, code machine.Code, kept func(fn uint64) bool) {
	ends, jumps, apart := make([]int32, len(code)), make([]int32, len(code)), make([]int32, len(code)+1)
	var open []int32
	for i, op := range code {
		no := onlyOnWays(op)
		switch op.Kind {
		case machine.OpCall:
			if n := len(open); n > 0 && l.sites[op.Arg].Tail {
				jumps[open[n-1]] = int32(i)
			}
			open = append(open, int32(i))
			no = kept(l.sites[op.Arg].Func)
		case machine.OpReturn:
			if n := len(open) - 1; n >= 0 {
				at := open[n]
				open, ends[at] = open[:n], int32(i)
				if n < 2 {
					continue // the way into the kernel is not called from anywhere
				}
				fn := l.sites[code[at].Arg].Func
				l.calls[fn] = append(l.calls[fn], call{template, at, int32(i)})
			}
		}
		apart[i+1] = apart[i]
		if no {
			apart[i+1]++
		}
	}
	l.codes[template], l.ends[template], l.jumps[template], l.apart[template] = code, ends, jumps, apart
}

func (l *loom) op(c call) *machine.Op { return &l.codes[c.template][c.at] }

// fn is the function that a call enters.
func (l *loom) fn(c call) uint64 { return l.sites[l.op(c).Arg].Func }

// jump gives the jump that the function of a call makes to another one.
func (l *loom) jump(c call) (call, bool) {
	at := l.jumps[c.template][c.at]
	return call{c.template, at, l.ends[c.template][at]}, at > 0
}

// comes reports whether a call comes to fn: it is the call of fn, or of a function that jumps
// there. last is the call of fn.
func (l *loom) comes(c call, fn uint64) (last call, ok bool) {
	for ok = true; ok && l.fn(c) != fn; {
		c, ok = l.jump(c)
	}
	return c, ok
}

// chain gives the calls through which c comes to fn by jumps; the last one is of fn. A jump
// leaves nothing on the stack. It is empty if c does not come there.
func (l *loom) chain(c call, fn uint64) (list []call) {
	for ok := true; ok; c, ok = l.jump(c) {
		if list = append(list, c); l.fn(c) == fn {
			return list
		}
	}
	return nil
}

// clean reports whether all of a call may happen beside a way.
func (l *loom) clean(c call) bool { return l.apart[c.template][c.end+1] == l.apart[c.template][c.at] }

// sameState reports whether two calls begin and end in the same state of the processor.
func (l *loom) sameState(a, b call) bool {
	code, like := l.codes[a.template], l.codes[b.template]
	return stateOf(code[a.at]) == stateOf(like[b.at]) && stateOf(code[a.end]) == stateOf(like[b.end])
}

func stateOf(op machine.Op) [2]uint8 { return [2]uint8{op.Flags, op.Preempt} }

// each calls f with each operation of the function's own, and with each call that it makes.
func (l *loom) each(c call, f func(op *machine.Op, made call)) {
	code := l.codes[c.template]
	for at := c.at + 1; at < c.end; at++ {
		op := &code[at]
		if op.Kind == machine.OpCall {
			end := l.ends[c.template][at]
			f(op, call{c.template, at, end})
			at = end
			continue
		}
		f(op, call{at: -1})
	}
}

// first and next give the calls that a function makes, one by one.
func (l *loom) first(c call) (call, bool) { return l.from(c.template, c.at+1, c.end) }

func (l *loom) next(in, made call) (call, bool) { return l.from(in.template, made.end+1, in.end) }

func (l *loom) from(template, at, end int32) (call, bool) {
	code := l.codes[template]
	for ; at < end; at++ {
		if code[at].Kind == machine.OpCall {
			return call{template, at, l.ends[template][at]}, true
		}
	}
	return call{}, false
}

// outermost gives the first function of a template.
func (l *loom) outermost(template int) (call, bool) {
	code := l.codes[template]
	if len(code) == 0 || code[0].Kind != machine.OpCall || l.ends[template][0] == 0 {
		return call{}, false
	}
	return call{int32(template), 0, l.ends[template][0]}, true
}

// likely gives the calls of a function from which one is chosen to stand for another one.
const likely = 64

func (l *loom) of(fn uint64) []call {
	list := l.calls[fn]
	return list[:min(len(list), likely)]
}

// instead gives a call of the same function, in the same state, that may happen beside a
// way.
func (l *loom) instead(c call, fn uint64) (call, bool) {
	list := l.of(fn)
	i := slices.IndexFunc(list, func(o call) bool { return l.clean(o) && l.sameState(c, o) })
	if i < 0 {
		return call{}, false
	}
	return list[i], true
}
