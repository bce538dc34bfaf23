package functions

import (
	"slices"

	"ftracelab/machine"
)

// directChanged registers the direct calls of a module that was loaded, and removes
// those of a module that is unloaded. A direct call is made after all other users of the
// function's entry were called, even after those that registered later.
//
// Kernel: register_ftrace_direct and unregister_ftrace_direct, kernel/trace/ftrace.c.
func (u *Users) directChanged(mod *machine.Module, loaded bool) {
	for i := range mod.Direct {
		d := &mod.Direct[i]
		if !loaded {
			u.ops = slices.DeleteFunc(u.ops, func(o *Ops) bool { return o.Direct == d })
			continue
		}
		at, ok := u.machine.Kallsyms().ByName(d.At)
		if !ok {
			continue // the kernel's module would not be linked
		}
		u.ops = append(u.ops, &Ops{
			Direct:     d,
			Wants:      func(ip uint64) bool { return ip == at.IP() },
			Handler:    "call_direct_funcs",
			Trampoline: u.freeTrampoline(),
			Call: func(c *machine.CPU, f *machine.Frame) {
				if f.IP == at.IP() {
					c.CallDirect(d)
				}
			},
		})
	}
}

// directAt returns the direct call at the entry of a function; nil if there is none.
func (u *Users) directAt(s machine.Symbol) *machine.Direct {
	for _, o := range u.ops {
		if o.Direct != nil && o.Wants(s.IP()) {
			return o.Direct
		}
	}
	return nil
}
