package tracer

import (
	"slices"

	"ftracelab/tracer/functions"

	"ftracelab/fgraph"
	"ftracelab/workload/machine"
)

// registerOps adds a user of function entries; the latest is called first.
//
// Kernel: ftrace_startup and add_ftrace_ops, kernel/trace/ftrace.c.
func (ft *Ftrace) registerOps(o *functions.Ops) {
	if slices.Contains(ft.ops, o) {
		ft.changed()
		return
	}
	o.Trampoline = ft.freeTrampoline()
	ft.ops = slices.Insert(ft.ops, 0, o)
	ft.changed()
}

// unregisterOps removes a user; one that is not there is no matter.
//
// Kernel: ftrace_shutdown, kernel/trace/ftrace.c.
func (ft *Ftrace) unregisterOps(o *functions.Ops) {
	if at := slices.Index(ft.ops, o); at >= 0 {
		ft.ops = slices.Delete(ft.ops, at, at+1)
	}
	o.Trampoline = 0
	ft.changed()
}

// graphHash is a user of the shadow stacks with the functions it wants.
type graphHash struct {
	ops  *fgraph.Ops
	hash *functions.OpsHash
}

// registerGraph adds a user of the shadow stacks for the functions of h. All of
// them together are one user of function entries.
//
// Kernel: register_ftrace_graph, kernel/trace/fgraph.c.
func (ft *Ftrace) registerGraph(o *fgraph.Ops, h *functions.OpsHash) error {
	o.Filter = h.Wants
	if err := ft.graph.Register(o); err != nil {
		return err
	}
	ft.graphHashes = append(ft.graphHashes, graphHash{o, h})
	ft.registerOps(&ft.graphOps)
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
	ft.changed()
}

// call runs at a function's entry.
//
// Kernel: arch_ftrace_ops_list_func, kernel/trace/ftrace.c.
func (ft *Ftrace) call(c *machine.CPU, f *machine.Frame) {
	for _, o := range ft.entryOps() {
		if (o.Hash == nil || o.Hash.Wants(f.IP)) && (o.Follows == nil || o.Follows(c)) {
			o.Call(c, f)
		}
	}
	if ft.dyn.Armed() {
		ft.dyn.Call(c, f)
	}
}

// entryOps are the users that are called: with kernel.ftrace_enabled off none.
func (ft *Ftrace) entryOps() []*functions.Ops {
	if ft.functionsEnabled == 0 {
		return nil
	}
	return ft.ops
}
