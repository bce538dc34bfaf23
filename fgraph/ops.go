package fgraph

import (
	"fmt"
	"syscall"

	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// Call is a function being entered.
type Call struct {
	Func  uint64 // address of the patched call
	To    uint64 // where it will return to; ReturnToHandler if a caller was hooked and jumped here
	Depth int    // frames below it on the shadow stack, 0 for the outermost
	// Frame is the call on the machine, from which registers and arguments are read; nil
	// if Enter was called without a machine.
	Frame *machine.Frame
}

// Ret is the return of a function.
type Ret struct {
	Func     uint64
	To       uint64 // where it returns to; ReturnToHandler if the one that jumped here returns next
	Value    uint64 // what it returns
	Depth    int
	Overrun  uint32         // calls of this task not traced so far because its stack was full
	Calltime uint64         // ns
	Rettime  uint64         // ns
	Frame    *machine.Frame // as in Call
}

// Ops is one user of the shadow stacks: the function_graph tracer of an
// instance, the function profiler, all fprobes together.
//
// Entry and Return run in the context of the call, must not block and must not
// register or unregister. Both get the CPU and the task's stack.
//
// Kernel: struct fgraph_ops, include/linux/ftrace.h.
type Ops struct {
	// Entry reports whether the user wants the call's return; if not, what it
	// has reserved is dropped.
	Entry func(c *machine.CPU, s *Stack, call Call) bool
	// Return runs for the calls that Entry wanted, as long as the Ops is registered.
	Return func(c *machine.CPU, s *Stack, ret Ret)
	// Filter selects functions by the address of their patched call; nil is every function.
	Filter func(fn uint64) bool

	graph *Graph // while registered
	index int
}

// Index is the place of a registered Ops among the users, 0…MaxOps-1.
func (o *Ops) Index() int { return o.index }

// Config fixes what a kernel fixes at build time, and where stacks and time
// come from. The zero value is a Debian kernel on the machine's own clock.
type Config struct {
	// SubtimeWord adds a word to each frame, as CONFIG_FUNCTION_PROFILER does.
	SubtimeWord bool
	// NoCalltime leaves the time of the call out of the frames, and SubtimeWord with it. A
	// user that needs it reserves a word. Ret.Calltime is 0 then, and Sleep does nothing.
	//
	// Kernel: the last patch of the series that put fprobes on the shadow stack, merged for
	// 6.14.
	NoCalltime bool
	// AlwaysReturnZero delivers every return to user 0, wanted or not. That is
	// what 6.12 does, because it sets the bit of user 0 in each frame as a mark.
	AlwaysReturnZero bool
	// Clock stamps calls, in ns; nil is the CPU's local time.
	Clock func(c *machine.CPU) uint64
	// Work counts what hits do to memory, without what the users do; nil: not counted.
	Work *work.Count
	// Stack finds the shadow stack of a task; it returns nil if the task has
	// none (yet) and must not be traced. If the func itself is nil, the stack
	// is kept in the task's Private.
	Stack func(t *machine.Task) *Stack
}

// Graph is the set of users. It is not safe for concurrent use; the machine
// steps its CPUs one after the other.
type Graph struct {
	cfg    Config
	array  [MaxOps]*Ops // nil is a stub
	used   uint16       // bit i: array[i] is taken
	active int
	direct *Ops // the only user, called without loop or filter test

	// Indices are given out in the order in which they became free, so that an index
	// that was just released is taken again as late as possible: frames in flight may
	// still have its bit set.
	lru     [MaxOps]int8 // -1 is a gap
	lruNext int
	lruLast int

	// point runs at the places where an interrupt, or another CPU, may come between; only
	// tests set it.
	point func(string)

	stacks []*Stack // all that were handed out, for clearing task variables
	dead   bool
}

// New returns a graph without users.
func New(cfg Config) *Graph {
	g := &Graph{cfg: cfg}
	if g.cfg.Clock == nil {
		g.cfg.Clock = func(c *machine.CPU) uint64 { return c.Time }
	}
	if g.cfg.Stack == nil {
		g.cfg.Stack = g.privateStack
	}
	for i := range g.lru {
		g.lru[i] = int8(i)
	}
	return g
}

// privateStack keeps the stack in Task.Private and makes it on first use.
func (g *Graph) privateStack(t *machine.Task) *Stack {
	if t == nil {
		return nil
	}
	s, ok := t.Private.(*Stack)
	if !ok {
		if t.Private != nil {
			return nil // someone else's
		}
		s = &Stack{}
		t.Private = s
		g.Adopt(s)
	}
	return s
}

// Adopt tells g of a stack that Config.Stack hands out, so that Register zeroes
// a new user's variable there.
func (g *Graph) Adopt(s *Stack) { g.stacks = append(g.stacks, s) }

// Forget removes the stack of a task that has exited.
func (g *Graph) Forget(s *Stack) {
	for i, o := range g.stacks {
		if o == s {
			last := len(g.stacks) - 1
			g.stacks[i], g.stacks[last] = g.stacks[last], nil
			g.stacks = g.stacks[:last]
			return
		}
	}
}

// Stacks is the number of stacks that were handed out and not forgotten.
func (g *Graph) Stacks() int { return len(g.stacks) }

// Active is the number of registered users.
func (g *Graph) Active() int { return g.active }

// Direct reports whether there is only one user, which is called directly.
func (g *Graph) Direct() bool { return g.direct != nil }

// Register adds a user. It returns ENOSPC if MaxOps are registered already, and
// EINVAL if o is registered or lacks a function.
//
// Kernel: register_ftrace_graph, kernel/trace/fgraph.c.
func (g *Graph) Register(o *Ops) error {
	if o.graph != nil || o.Entry == nil || o.Return == nil {
		return fmt.Errorf("fgraph: register: %w", syscall.EINVAL)
	}
	i := int(g.lru[g.lruNext])
	if i < 0 {
		return fmt.Errorf("fgraph: register: %d users: %w", g.active, syscall.ENOSPC)
	}
	g.lru[g.lruNext] = -1
	g.lruNext = (g.lruNext + 1) % MaxOps

	o.graph, o.index = g, i
	g.array[i] = o
	g.used |= 1 << i
	g.active++
	for _, s := range g.stacks {
		*s.Var(o) = 0
	}
	g.setDirect()
	return nil
}

// Unregister removes a user. Calls whose return it wanted may still be on shadow
// stacks; their returns are no longer delivered to it. It returns EINVAL if o is not
// registered with g.
//
// Kernel: unregister_ftrace_graph, kernel/trace/fgraph.c.
func (g *Graph) Unregister(o *Ops) error {
	if o.graph != g {
		return fmt.Errorf("fgraph: unregister: %w", syscall.EINVAL)
	}
	g.lru[g.lruLast] = int8(o.index)
	g.lruLast = (g.lruLast + 1) % MaxOps
	g.array[o.index] = nil
	g.used &^= 1 << o.index
	o.graph = nil
	g.active--
	g.setDirect()
	return nil
}

func (g *Graph) setDirect() {
	g.direct = nil
	if g.active != 1 {
		return
	}
	for _, o := range g.array {
		if o != nil {
			g.direct = o
		}
	}
}

// Traces reports whether any user's filter lets fn through. It is the filter of
// the one ftrace_ops that all users share.
func (g *Graph) Traces(fn uint64) bool {
	if g.direct != nil {
		return g.direct.wants(fn)
	}
	for _, o := range g.array {
		if o != nil && o.wants(fn) {
			return true
		}
	}
	return false
}

func (o *Ops) wants(fn uint64) bool { return o.Filter == nil || o.Filter(fn) }
