package functions

import (
	"slices"

	"ftracelab/fgraph"
	"ftracelab/machine"
)

// Users are the users of function entries on a machine. Users also remembers which
// functions were ever traced.
type Users struct {
	// Enabled is kernel.ftrace_enabled; if it is 0, no user is called.
	Enabled int32

	machine *machine.Machine
	graph   *fgraph.Graph
	changed func()

	ops         []*Ops // the latest first; direct calls last
	graphOps    Ops    // one user for all users of the shadow stacks
	graphHashes []graphHash
	touched     map[uint64]bool // functions that were ever traced
	touchedAll  bool            // all functions were traced, except for untouched
	untouched   map[uint64]bool // functions of modules that were loaded after that
}

// NewUsers returns Users without any user. changed is called when a user was added or
// removed, or wants other functions.
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

// Unregister removes a user. It does no harm if the user is not registered.
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

// RegisterGraph adds a user of the shadow stacks for the functions of h. All users of the
// shadow stacks together are one user of function entries.
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

// UnregisterGraph removes a user of the shadow stacks.
//
// Kernel: unregister_ftrace_graph, kernel/trace/fgraph.c.
func (u *Users) UnregisterGraph(o *fgraph.Ops) {
	// The only error says that the user was not registered; then there is nothing to do.
	_ = u.graph.Unregister(o)
	u.graphHashes = slices.DeleteFunc(u.graphHashes, func(g graphHash) bool { return g.ops == o })
	if u.graph.Active() == 0 {
		u.Unregister(&u.graphOps)
	}
	u.changed()
}

// Any reports whether there is a user to call.
func (u *Users) Any() bool { return u.Enabled != 0 && len(u.ops) > 0 }

// Hook is what has to be called when a function is entered: nothing without a user, the
// user itself if it is the only one and wants every function of every task, and otherwise
// Call.
//
// Kernel: update_ftrace_function, kernel/trace/ftrace.c.
func (u *Users) Hook() func(c *machine.CPU, f *machine.Frame) {
	switch {
	case !u.Any():
		return nil
	case len(u.ops) == 1 && u.ops[0].wantsAll():
		return u.ops[0].Call
	}
	return u.Call
}

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

// Count returns how many users trace a function.
func (u *Users) Count(ip uint64) int {
	n, _ := u.users(ip)
	return n
}

// ModuleChanged is called after a module is loaded and before it is unloaded. It updates
// the direct calls and the functions that were traced.
func (u *Users) ModuleChanged(mod *machine.Module, loaded bool) {
	u.directChanged(mod, loaded)
	u.touchModule(mod.Name, loaded)
}
