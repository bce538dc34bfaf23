package tracer

import (
	"slices"

	"ftracelab/workload/machine"
)

// directChanged registers the direct calls of a module that has come, and takes
// away those of one that goes. A direct call comes behind all other users of the
// function's entry, whoever was first.
//
// Kernel: register_ftrace_direct and unregister_ftrace_direct, kernel/trace/ftrace.c.
func (ft *Ftrace) directChanged(mod *machine.Module, loaded bool) {
	for i := range mod.Direct {
		d := &mod.Direct[i]
		if !loaded {
			ft.ops = slices.DeleteFunc(ft.ops, func(o *functionOps) bool { return o.direct == d })
			continue
		}
		at, ok := ft.machine.Kallsyms().ByName(d.At)
		if !ok {
			continue // the kernel's module would not be linked
		}
		ft.ops = append(ft.ops, &functionOps{
			direct:     d,
			wants:      func(ip uint64) bool { return ip == at.IP() },
			handler:    "call_direct_funcs",
			trampoline: ft.freeTrampoline(),
			call: func(c *machine.CPU, f *machine.Frame) {
				if f.IP == at.IP() {
					c.CallDirect(d)
				}
			},
		})
	}
}

// directAt is the direct call at the entry of a function; nil: there is none.
func (ft *Ftrace) directAt(s machine.Symbol) *machine.Direct {
	for _, o := range ft.ops {
		if o.direct != nil && o.wants(s.IP()) {
			return o.direct
		}
	}
	return nil
}
