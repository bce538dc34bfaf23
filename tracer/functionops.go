package tracer

import (
	"slices"

	"ftracelab/fgraph"
	"ftracelab/workload/machine"
)

// functionOps is struct ftrace_ops: one user of function entries, with the
// functions it wants. The tracers of an instance share the instance's filter;
// a function command, the stack tracer and the profiler have their own.
//
// Kernel: struct ftrace_ops, include/linux/ftrace.h.
type functionOps struct {
	hash *filterHash
	call func(c *machine.CPU, f *machine.Frame)
	// pids is the instance whose set_ftrace_pid applies; nil for a user that
	// looks at every task.
	pids *Instance
	// handler is the kernel's function behind call, for enabled_functions.
	handler string
	// wants stands in for hash, which then is nil, where call looks at filters of
	// its own: the graph's users have one each.
	wants func(ip uint64) bool

	direct *machine.Direct // of a module that takes its calls without ftrace
	regs   bool            // wants all registers (FTRACE_OPS_FL_SAVE_REGS)

	trampoline uint64 // made up while registered
}

// traces reports whether o wants a function.
func (o *functionOps) traces(ip uint64) bool {
	if o.wants != nil {
		return o.wants(ip)
	}
	return o.hash.wants(ip)
}

// registerOps adds a user of function entries; the latest is called first.
//
// Kernel: ftrace_startup and add_ftrace_ops, kernel/trace/ftrace.c.
func (ft *Ftrace) registerOps(o *functionOps) {
	if slices.Contains(ft.ops, o) {
		ft.opsChanged()
		return
	}
	o.trampoline = ft.freeTrampoline()
	ft.ops = slices.Insert(ft.ops, 0, o)
	if o.hash == nil {
		ft.opsChanged()
		return
	}
	if ft.functionsEnabled != 0 {
		ft.touchHash(o.hash)
	}
	ft.hookCalls()
}

// unregisterOps removes a user; one that is not there is no matter.
//
// Kernel: ftrace_shutdown, kernel/trace/ftrace.c.
func (ft *Ftrace) unregisterOps(o *functionOps) {
	if at := slices.Index(ft.ops, o); at >= 0 {
		ft.ops = slices.Delete(ft.ops, at, at+1)
	}
	o.trampoline = 0
	ft.hookCalls()
}

// graphHash is a user of the shadow stacks with the functions it wants.
type graphHash struct {
	ops  *fgraph.Ops
	hash *filterHash
}

// registerGraph adds a user of the shadow stacks for the functions of h. All of
// them together are one user of function entries.
//
// Kernel: register_ftrace_graph, kernel/trace/fgraph.c.
func (ft *Ftrace) registerGraph(o *fgraph.Ops, h *filterHash) error {
	o.Filter = h.wants
	if err := ft.graph.Register(o); err != nil {
		return err
	}
	ft.graphHashes = append(ft.graphHashes, graphHash{o, h})
	ft.registerOps(&ft.graphOps)
	ft.hooksChanged()
	return nil
}

// Kernel: unregister_ftrace_graph, kernel/trace/fgraph.c.
func (ft *Ftrace) unregisterGraph(o *fgraph.Ops) {
	// An error would say that it was not registered, which is what is wanted.
	_ = ft.graph.Unregister(o)
	ft.graphHashes = slices.DeleteFunc(ft.graphHashes, func(g graphHash) bool { return g.ops == o })
	if ft.graph.Active() == 0 {
		ft.unregisterOps(&ft.graphOps)
	}
	ft.hooksChanged()
}

// opsChanged brings the machine's hook and the touched functions up to date
// after a user or its filter has changed.
func (ft *Ftrace) opsChanged() {
	if ft.functionsEnabled != 0 {
		ft.touch()
	}
	ft.hookCalls()
}

// hookCalls sets the machine's hook if anybody wants calls.
func (ft *Ftrace) hookCalls() {
	ft.machine.Hooks.Call = nil
	if len(ft.entryOps()) > 0 || ft.kprobes.armed > 0 {
		ft.machine.Hooks.Call = ft.call
	}
}

// call runs at a function's entry.
//
// Kernel: arch_ftrace_ops_list_func, kernel/trace/ftrace.c.
func (ft *Ftrace) call(c *machine.CPU, f *machine.Frame) {
	ft.running = c
	for _, o := range ft.entryOps() {
		if (o.hash == nil || o.hash.wants(f.IP)) && (o.pids == nil || o.pids.followsTask(c)) {
			o.call(c, f)
		}
	}
	if ft.kprobes.armed > 0 {
		ft.hitInside(c, f)
	}
	ft.running = nil
}

// entryOps are the users that are called: with kernel.ftrace_enabled off none.
func (ft *Ftrace) entryOps() []*functionOps {
	if ft.functionsEnabled == 0 {
		return nil
	}
	return ft.ops
}
