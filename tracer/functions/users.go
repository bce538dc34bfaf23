package functions

import (
	"slices"

	"ftracelab/fgraph"
	"ftracelab/machine"
)

// Users is who sees function entries, on a machine, and which functions have ever been
// seen.
type Users struct {
	// Enabled is kernel.ftrace_enabled; with 0 no entry is seen.
	Enabled int32

	machine *machine.Machine
	graph   *fgraph.Graph
	changed func()

	ops         []*Ops // the latest first
	graphOps    Ops    // of all users of the shadow stacks
	graphHashes []graphHash
	touched     map[uint64]bool // functions that were ever traced
	touchedAll  bool            // all were, but for untouched
	untouched   map[uint64]bool // functions of modules that came after that
}

// NewUsers returns no users yet. changed is called when a user came or went, or wants
// other functions.
func NewUsers(m *machine.Machine, graph *fgraph.Graph, changed func()) *Users {
	u := &Users{Enabled: 1, machine: m, graph: graph, changed: changed, touched: map[uint64]bool{}, untouched: map[uint64]bool{}}
	u.graphOps = Ops{Wants: graph.Traces, Call: graph.Call, Handler: "ftrace_graph_func"}
	return u
}

// Register adds a user of function entries; the latest is called first.
//
// Kernel: ftrace_startup and add_ftrace_ops, kernel/trace/ftrace.c.
func (u *Users) Register(o *Ops) {
	if slices.Contains(u.ops, o) {
		u.changed()
		return
	}
	o.Trampoline = u.freeTrampoline()
	u.ops = slices.Insert(u.ops, 0, o)
	u.changed()
}

// Unregister removes a user; one that is not there is no matter.
//
// Kernel: ftrace_shutdown, kernel/trace/ftrace.c.
func (u *Users) Unregister(o *Ops) {
	if at := slices.Index(u.ops, o); at >= 0 {
		u.ops = slices.Delete(u.ops, at, at+1)
	}
	o.Trampoline = 0
	u.changed()
}

// graphHash is a user of the shadow stacks with the functions it wants.
type graphHash struct {
	ops  *fgraph.Ops
	hash *OpsHash
}

// RegisterGraph adds a user of the shadow stacks for the functions of h. All of
// them together are one user of function entries.
//
// Kernel: register_ftrace_graph, kernel/trace/fgraph.c.
func (u *Users) RegisterGraph(o *fgraph.Ops, h *OpsHash) error {
	o.Filter = h.Wants
	if err := u.graph.Register(o); err != nil {
		return err
	}
	u.graphHashes = append(u.graphHashes, graphHash{o, h})
	u.Register(&u.graphOps)
	return nil
}

// UnregisterGraph takes a user of the shadow stacks away.
//
// Kernel: unregister_ftrace_graph, kernel/trace/fgraph.c.
func (u *Users) UnregisterGraph(o *fgraph.Ops) {
	// An error would say that it was not registered, which is what is wanted.
	_ = u.graph.Unregister(o)
	u.graphHashes = slices.DeleteFunc(u.graphHashes, func(g graphHash) bool { return g.ops == o })
	if u.graph.Active() == 0 {
		u.Unregister(&u.graphOps)
	}
	u.changed()
}

// Any reports whether somebody is to be called.
func (u *Users) Any() bool { return u.Enabled != 0 && len(u.ops) > 0 }

// Call calls the users of a function that is entered.
//
// Kernel: arch_ftrace_ops_list_func, kernel/trace/ftrace.c.
func (u *Users) Call(c *machine.CPU, f *machine.Frame) {
	if u.Enabled == 0 {
		return
	}
	for _, o := range u.ops {
		if (o.Hash == nil || o.Hash.Wants(f.IP)) && (o.Follows == nil || o.Follows(c)) {
			o.Call(c, f)
		}
	}
}

// Count is how many users trace a function.
func (u *Users) Count(ip uint64) int {
	n, _ := u.users(ip)
	return n
}

// ModuleChanged follows a module that has come, or goes: its direct calls, and what was
// traced of its functions.
func (u *Users) ModuleChanged(mod *machine.Module, loaded bool) {
	u.directChanged(mod, loaded)
	u.touchModule(mod.Name, loaded)
}
