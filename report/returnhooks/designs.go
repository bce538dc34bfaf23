package returnhooks

import (
	"fmt"
	"slices"

	"ftracelab/fgraph"
	"ftracelab/fgraph/fprobe"
	"ftracelab/fgraph/rethook"
	"ftracelab/fgraph/slots"
	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// design is a way to see functions return.
type design struct {
	name string
	what string
	make func(s *site) *hook
}

// site is what a design is put on.
type site struct {
	fns   []uint64 // addresses of the patched calls
	cpus  int
	work  *work.Count
	seen  func() // to be called at each return, or for a design without returns at each entry
	tasks tasks
}

// hook is a design on its functions.
type hook struct {
	call  func(c *machine.CPU, f *machine.Frame) // at the entry of one of the functions
	leave func(c *machine.CPU, f *machine.Frame) // when a hooked function returns
	exit  func(t *machine.Task)                  // when a task has ended; may be nil
	// missed counts the calls that were not seen, why says why.
	missed func() uint64
	why    string
	// Bytes of bookkeeping for each task, for each function, and once.
	perTask, perFunction, fixed int
	entryOnly                   bool
}

// tasks keeps what a design has for each task.
type tasks struct {
	hooked map[*machine.Task]*rethook.Task
	stacks map[*machine.Task]*fgraph.Stack
}

func (t *tasks) list(of *machine.Task) *rethook.Task {
	l := t.hooked[of]
	if l == nil {
		l = new(rethook.Task)
		t.hooked[of] = l
	}
	return l
}

func (t *tasks) stack(of *machine.Task) *fgraph.Stack {
	s := t.stacks[of]
	if s == nil {
		s = new(fgraph.Stack)
		t.stacks[of] = s
	}
	return s
}

// Sizes of the kernel's structures on x86-64, in bytes.
const (
	slotBytes      = 24 + 7    // struct ftrace_retfunc with 64-bit fields, and the slot's trampoline
	listHeadBytes  = 8         // task_struct's rethooks
	fprobeNode     = 48 + 16   // struct fprobe_rethook_node: rethook_node, entry_ip, entry_parent_ip
	shadowBytes    = 4096 + 28 // ret_stack, and task_struct's pointer, curr_ret_stack, curr_ret_depth, ftrace_timestamp's half, trace_overrun
	hlistNodeBytes = 32        // struct fprobe_hlist_node
)

// designs are in the order of their history.
func designs() []design {
	all := []design{}
	for _, n := range []int{1, 8, slots.Max} {
		all = append(all, design{fmt.Sprintf("slots-%d", n), "the tracer return of 2008", func(s *site) *hook { return onSlots(s, n) }})
	}
	for _, n := range []int{1, 10, 100} {
		all = append(all, design{fmt.Sprintf("kretprobe-%d", n), "kretprobe on rethook, maxactive as said", func(s *site) *hook { return onKretprobe(s, n) }})
	}
	all = append(all,
		design{"kretprobe-default", "kretprobe on rethook, max(10, 2 × CPUs) nodes", func(s *site) *hook { return onKretprobe(s, max(10, 2*s.cpus)) }},
		design{"fprobe-rethook", "6.12's fprobe, functions × CPUs × 2 nodes", func(s *site) *hook { return onRethookFprobe(s, false) }},
		design{"fprobe-rethook-entry", "6.12's fprobe of entries", func(s *site) *hook { return onRethookFprobe(s, true) }},
		design{"fprobe-fgraph", "6.14's fprobe", func(s *site) *hook { return onGraphFprobe(s, false, false) }},
		design{"fprobe-fgraph-entry", "6.14's fprobe of entries", func(s *site) *hook { return onGraphFprobe(s, true, false) }},
		design{"fprobe-2025-entry", "the fprobe of entries since 2025, past fgraph", func(s *site) *hook { return onGraphFprobe(s, true, true) }},
	)
	for _, n := range []int{1, fgraph.MaxOps} {
		all = append(all, design{fmt.Sprintf("fgraph-%d", n), "fgraph with so many users", func(s *site) *hook { return onGraph(s, n) }})
	}
	return append(all,
		design{"fgraph-untimed", "fgraph of 6.14, for a user that needs no time", func(s *site) *hook { return onUntimedGraph(s, false) }},
		design{"fgraph-own-time", "fgraph of 6.14, for a user that keeps the time itself", func(s *site) *hook { return onUntimedGraph(s, true) }},
	)
}

func onSlots(s *site, n int) *hook {
	t := slots.New(n)
	t.Work, t.Return = s.work, func(*machine.CPU, *slots.Slot) { s.seen() }
	return &hook{
		call: t.Enter, leave: t.Leave,
		missed: func() uint64 { return t.Overrun }, why: "no slot free",
		fixed: slots.Max*slotBytes + 8, // the bitmap and its lock
	}
}

// onKretprobe has a kretprobe on each function. A hit begins with a look-up of the kprobe.
func onKretprobe(s *site, n int) *hook {
	probes, missed := map[uint64]*rethook.Hook{}, uint64(0)
	for _, fn := range s.fns {
		h := rethook.New(func(*machine.CPU, *rethook.Node, uint64, *machine.Frame) { s.seen() }, 0, n)
		h.Work = s.work
		probes[fn] = h
	}
	return &hook{
		call: func(c *machine.CPU, f *machine.Frame) {
			s.work.Add(0, 0, 1, 1)
			node := probes[f.IP].Get()
			if node == nil {
				missed++
				return
			}
			s.tasks.list(c.Current).Hook(node, f)
		},
		leave:  func(c *machine.CPU, f *machine.Frame) { s.tasks.list(c.Current).Return(c, f) },
		exit:   func(t *machine.Task) { s.tasks.list(t).Flush() },
		missed: func() uint64 { return missed }, why: "no node free",
		perTask: listHeadBytes, perFunction: n * rethook.NodeBytes,
	}
}

func onRethookFprobe(s *site, entryOnly bool) *hook {
	p := &rethook.Fprobe{Work: s.work}
	if entryOnly {
		p.Entry = func(*machine.CPU, *machine.Frame, []uint64) bool { s.seen(); return true }
	} else {
		p.Exit = func(*machine.CPU, uint64, uint64, *machine.Frame, []uint64) { s.seen() }
	}
	p.Register(len(s.fns), s.cpus)
	h := &hook{
		call:   func(c *machine.CPU, f *machine.Frame) { p.Enter(c, s.tasks.list(c.Current), f) },
		leave:  func(c *machine.CPU, f *machine.Frame) { s.tasks.list(c.Current).Return(c, f) },
		exit:   func(t *machine.Task) { s.tasks.list(t).Flush() },
		missed: func() uint64 { return p.Missed }, why: "no node free",
		entryOnly: entryOnly,
	}
	if !entryOnly {
		h.perTask, h.perFunction = listHeadBytes, 2*s.cpus*fprobeNode
	}
	return h
}

// newGraph returns a graph and a hook without users.
func newGraph(s *site, cfg fgraph.Config) (*fgraph.Graph, *hook) {
	cfg.Work, cfg.Stack = s.work, s.tasks.stack
	g := fgraph.New(cfg)
	overrun := func() (n uint64) {
		for _, stack := range s.tasks.stacks {
			n += uint64(stack.Overrun())
		}
		return n
	}
	return g, &hook{call: g.Call, leave: g.Leave, missed: overrun, why: "shadow stack full", perTask: shadowBytes}
}

func onGraphFprobe(s *site, entryOnly, past bool) *hook {
	g, h := newGraph(s, fgraph.Config{})
	wanted := map[uint64]bool{}
	set := fprobe.New(fprobe.Config{
		Work: s.work, EntryOnly: past,
		Attach: func(o *fgraph.Ops, fns []uint64) error {
			for _, fn := range fns {
				wanted[fn] = true
			}
			o.Filter = func(fn uint64) bool { return wanted[fn] }
			return g.Register(o)
		},
	})
	p := new(fprobe.Probe)
	if entryOnly {
		p.Entry = func(*machine.CPU, fprobe.Hit, []uint64) bool { s.seen(); return true }
	} else {
		p.Exit = func(*machine.CPU, fprobe.Hit, []uint64) { s.seen() }
	}
	if err := set.Register(p, s.fns); err != nil {
		panic("returnhooks: invariant: " + err.Error()) // there are functions, and the graph has no user
	}
	h.perFunction, h.entryOnly = hlistNodeBytes, entryOnly
	if past {
		h.call, h.perTask = set.Call, 0
	}
	graphMissed := h.missed
	h.missed = func() uint64 { return graphMissed() + p.Missed }
	return h
}

// onGraph has users of which each wants every return. The first one is watched.
func onGraph(s *site, users int) *hook {
	g, h := newGraph(s, fgraph.Config{})
	wanted := map[uint64]bool{}
	for _, fn := range s.fns {
		wanted[fn] = true
	}
	for n := range users {
		o := &fgraph.Ops{
			Entry:  func(*machine.CPU, *fgraph.Stack, fgraph.Call) bool { return true },
			Return: func(*machine.CPU, *fgraph.Stack, fgraph.Ret) {},
			Filter: func(fn uint64) bool { return wanted[fn] },
		}
		if n == 0 {
			o.Return = func(*machine.CPU, *fgraph.Stack, fgraph.Ret) { s.seen() }
		}
		if err := g.Register(o); err != nil {
			panic("returnhooks: invariant: " + err.Error()) // there are MaxOps at most
		}
	}
	return h
}

// onUntimedGraph has one user, and frames without the time of the call. If the user needs
// that, it keeps it as its data.
func onUntimedGraph(s *site, timed bool) *hook {
	g, h := newGraph(s, fgraph.Config{NoCalltime: true})
	o := &fgraph.Ops{Filter: func(fn uint64) bool { return slices.Contains(s.fns, fn) }}
	o.Entry = func(c *machine.CPU, stack *fgraph.Stack, _ fgraph.Call) bool {
		if !timed {
			return true
		}
		data := stack.Reserve(o, 8)
		if data != nil {
			data[0] = c.Time
			s.work.Add(0, 1, 0, 0)
		}
		return data != nil
	}
	o.Return = func(*machine.CPU, *fgraph.Stack, fgraph.Ret) { s.seen() }
	if err := g.Register(o); err != nil {
		panic("returnhooks: invariant: " + err.Error()) // the graph has no user
	}
	return h
}
