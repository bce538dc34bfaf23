// Package fprobe is the fprobe of Linux 6.14 and later, which sees functions return with
// the shadow stack of package fgraph. (Package rethook has that of 6.12, with a pool of
// nodes for each probe.)
//
// All probes of a [Set] share one user of the graph. At a function's entry, the user
// finds the probes of the function in a table, reserves room for all of them at once, and
// leaves a header and data for each one that wants the return:
//
//	shadow stack of the task
//	┌──────────────────────┐
//	│ frame, bitmap        │
//	├──────────────────────┤ ┐
//	│ header: probe A, 2   │ │
//	│ data of A            │ │
//	│ data of A            │ │ reserved by the shared user
//	│ header: probe B, 0   │ │
//	│ 0                    │ │ not used
//	├──────────────────────┤ ┘
//	│ data word            │
//
// At the return the headers say whom to call. A probe that has been removed meanwhile is
// found in no table and is not called; so there is no pool, and nothing to wait for.
//
// Kernel: kernel/trace/fprobe.c of 6.14; with [Config.EntryOnly], as it was changed in
// October 2025 (mails of the series that made "fprobe: use ftrace if there is no exit
// handler").
package fprobe

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/fgraph"
	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// Hit is what a handler is told: a call or its return.
type Hit struct {
	Func  uint64         // address of the patched call
	To    uint64         // where the function returns to
	Frame *machine.Frame // registers and arguments are read from it; at a return it has the value
}

// Probe is a user of functions' entries and returns. Its fields must not change while
// it is registered, except for Disabled and Missed.
//
// Kernel: struct fprobe of 6.14, include/linux/fprobe.h.
type Probe struct {
	// Entry runs at a function's entry unless it is nil. data is what Exit will get; it
	// is nil without DataWords or Exit. Entry reports whether the return is wanted. If it
	// is not, Exit does not run, and nothing counts as missed.
	Entry func(c *machine.CPU, hit Hit, data []uint64) bool
	// Exit runs when the function returns.
	Exit func(c *machine.CPU, hit Hit, data []uint64)
	// DataWords is how many words Entry leaves to Exit, 0…MaxDataWords.
	DataWords int
	// KprobeShared says that the handlers must not run inside a kprobe's handler. Such
	// calls count as missed.
	KprobeShared bool
	// Disabled keeps the handlers from running.
	Disabled bool
	// Missed counts calls whose handlers did not run. Register sets it to 0, also if it
	// then fails because there is no room.
	Missed uint64

	addr  uint64 // a made-up address of the probe
	nodes []node // while registered
}

// Config says what a set is on. Attach and, with EntryOnly, AttachEntry are called when the
// functions have changed: fns are those that have probes; without any, the user is
// removed. The slice belongs to the set.
type Config struct {
	// Attach registers ops with the graph for fns, or removes it.
	Attach func(ops *fgraph.Ops, fns []uint64) error
	// EntryOnly lets probes without Exit bypass the shadow stack, as in kernels from
	// 2025 on. The caller has to call Set.Call at the entry of each of the functions
	// that AttachEntry was given.
	EntryOnly   bool
	AttachEntry func(fns []uint64)
	// KprobeRunning reports whether a kprobe's handler runs on c; nil: never.
	KprobeRunning func(c *machine.CPU) bool
	// Work counts what hits do to memory, besides what the graph does; nil: not counted.
	Work *work.Count
}

// Set is the fprobes of a kernel. It belongs to the machine: one goroutine at a time.
type Set struct {
	cfg    Config
	ops    fgraph.Ops
	graph  tables  // the probes on the shadow stack
	direct tables  // the probes that bypass it
	fns    fnCount // functions of graph, of direct
	entry  fnCount
	made   uint64 // how many probes have got an address
}

// fnCount are functions in the order in which they came.
type fnCount []uint64

// New returns a set without probes.
func New(cfg Config) *Set {
	s := &Set{cfg: cfg}
	s.ops.Entry, s.ops.Return = s.enter, s.leave
	return s
}

// firstProbe is the address of the first probe, and probeSize how far apart they are.
const (
	firstProbe = 0xffff888100c00000
	probeSize  = 96
)

func (s *Set) place(p *Probe) (*tables, *fnCount) {
	if s.cfg.EntryOnly && p.Exit == nil {
		return &s.direct, &s.entry
	}
	return &s.graph, &s.fns
}

// Register puts a probe on functions, given by the addresses of their patched calls.
// Errors: EEXIST if it is registered, EINVAL without functions or handlers, E2BIG with
// more than MaxDataWords, and those of Config.Attach; nothing has changed then.
//
// Kernel: register_fprobe_ips.
func (s *Set) Register(p *Probe, fns []uint64) error {
	switch {
	case p.nodes != nil:
		return fmt.Errorf("fprobe: register: %w", syscall.EEXIST)
	case len(fns) == 0 || p.Entry == nil && p.Exit == nil || p.DataWords < 0:
		return fmt.Errorf("fprobe: register: %w", syscall.EINVAL)
	case p.DataWords > MaxDataWords:
		return fmt.Errorf("fprobe: register: %d words of data, at most %d: %w", p.DataWords, MaxDataWords, syscall.E2BIG)
	}
	if p.addr == 0 {
		p.addr = firstProbe + s.made*probeSize
		s.made++
	}
	p.Missed = 0
	t, fnset := s.place(p)
	for _, fn := range fns {
		n := node{fn, p}
		p.nodes = append(p.nodes, n)
		if t.insert(n) {
			*fnset = append(*fnset, fn)
		}
	}
	t.add(p)
	if err := s.attach(t); err != nil {
		s.unlink(p)
		return err
	}
	return nil
}

// Unregister stops a probe. Calls in flight keep its header on their stacks and return
// unseen. Registering the same Probe again before they return lets it see them: the
// kernel accepts that. Errors: EINVAL if it is not registered.
//
// Kernel: unregister_fprobe.
func (s *Set) Unregister(p *Probe) error {
	if p.nodes == nil {
		return fmt.Errorf("fprobe: unregister: %w", syscall.EINVAL)
	}
	t, _ := s.place(p)
	s.unlink(p)
	return s.attach(t)
}

// unlink takes a probe out of the tables, and the functions that nobody else is on out
// of the filter.
func (s *Set) unlink(p *Probe) {
	t, fnset := s.place(p)
	for _, n := range p.nodes {
		if t.remove(n) {
			*fnset = slices.DeleteFunc(*fnset, func(fn uint64) bool { return fn == n.fn })
		}
	}
	t.drop(p)
	p.nodes = nil
}

// Forget takes functions away that are about to be unloaded. A probe that has none left
// stays registered.
//
// Kernel: fprobe_module_callback.
func (s *Set) Forget(gone func(fn uint64) bool) error {
	for _, t := range []*tables{&s.graph, &s.direct} {
		for b := range t.byAddress {
			t.byAddress[b] = slices.DeleteFunc(slices.Clone(t.byAddress[b]), func(n node) bool { return gone(n.fn) })
		}
	}
	s.fns, s.entry = slices.DeleteFunc(s.fns, gone), slices.DeleteFunc(s.entry, gone)
	if err := s.attach(&s.graph); err != nil {
		return err
	}
	return s.attach(&s.direct)
}

func (s *Set) attach(t *tables) error {
	switch {
	case t == &s.graph:
		return s.cfg.Attach(&s.ops, s.fns)
	case s.cfg.AttachEntry != nil:
		s.cfg.AttachEntry(s.entry)
	}
	return nil
}

// enter runs at the entry of a function that has probes.
//
// Kernel: fprobe_entry.
func (s *Set) enter(c *machine.CPU, stack *fgraph.Stack, call fgraph.Call) bool {
	nodes := s.graph.at(call.Func)
	s.cfg.Work.Add(0, 0, 2*len(nodes), 1) // a node and its probe each
	words := 0
	for _, n := range nodes {
		if n.probe.Exit != nil {
			words += headerSize + n.probe.DataWords
		}
	}
	var data []uint64
	if words > 0 {
		if data = stack.Reserve(&s.ops, 8*words); data == nil {
			for _, n := range nodes {
				if !n.probe.Disabled && (!s.cfg.EntryOnly || n.probe.Exit != nil) {
					n.probe.Missed++
				}
			}
			return false
		}
	}
	hit, used := Hit{call.Func, call.To, call.Frame}, 0
	for _, n := range nodes {
		p := n.probe
		if p.Disabled {
			continue
		}
		var own []uint64
		end := used + headerSize + p.DataWords
		if p.Exit != nil && p.DataWords > 0 {
			own = data[used+headerSize : end : end]
		}
		if s.handle(c, p, hit, own) && p.Exit != nil {
			data[used] = header(p.addr, p.DataWords)
			s.cfg.Work.Add(0, end-used, 0, 0)
			used = end
		}
	}
	clear(data[used:])
	s.cfg.Work.Add(0, len(data)-used, 0, 0)
	return used != 0
}

// handle calls an entry handler and reports whether the return is wanted.
//
// Kernel: __fprobe_handler and __fprobe_kprobe_handler.
func (s *Set) handle(c *machine.CPU, p *Probe, hit Hit, data []uint64) bool {
	if p.KprobeShared && s.cfg.KprobeRunning != nil && s.cfg.KprobeRunning(c) {
		p.Missed++
		return false
	}
	return p.Entry == nil || p.Entry(c, hit, data)
}

// Call runs the probes that bypass the shadow stack, at the entry of a function.
//
// Kernel: fprobe_ftrace_entry.
func (s *Set) Call(c *machine.CPU, f *machine.Frame) {
	nodes := s.direct.at(f.IP)
	s.cfg.Work.Add(0, 0, 2*len(nodes), 1)
	for _, n := range nodes {
		if p := n.probe; !p.Disabled {
			s.handle(c, p, Hit{f.IP, f.Ret, f}, nil)
		}
	}
}

// leave runs when a function returns to which probes left headers.
//
// Kernel: fprobe_return.
func (s *Set) leave(c *machine.CPU, stack *fgraph.Stack, ret fgraph.Ret) {
	data := stack.Retrieve(&s.ops)
	hit := Hit{ret.Func, ret.To, ret.Frame}
	for at := 0; at < len(data); {
		addr, words, ok := parseHeader(data[at])
		if !ok {
			return
		}
		at += headerSize
		p := s.graph.find(addr)
		s.cfg.Work.Add(0, 0, 1, 1)
		if p != nil && !p.Disabled {
			var own []uint64
			if words > 0 {
				own = data[at : at+words : at+words]
			}
			p.Exit(c, hit, own)
		}
		at += words
	}
}
