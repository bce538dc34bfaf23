package events

import (
	"cmp"
	"slices"

	"ftracelab/tracer/event"
)

// Kernel says how a kernel was built, which decides the events that it has.
type Kernel struct {
	Stackmap       bool // patched with the stack map: ftrace:stack_id
	DeferredUnwind bool // patched with deferred unwinding: its two records, and inode_cache
	Full           bool // built with everything switched on, unlike Debian's
	Return         bool // patched with the tracer return of 2008: ftrace:fn_ret
	Ext4           bool // the modules ext4 and jbd2 are loaded
	Retval         bool // built to record what functions return: FuncgraphExitRetval instead of FuncgraphExit
}

// All returns the events of a kernel that is patched with all three series and built with
// everything except return values.
func All() []*event.Type {
	return Kernel{Stackmap: true, DeferredUnwind: true, Return: true, Full: true, Ext4: true}.Events()
}

// Events returns the kernel's events in its order: those of modules, the module that
// was loaded last first, and then the kernel's own in the order of their ids. The slice
// belongs to the caller, the types are shared.
//
// Departure: in a kernel with the stack map, the ids of all events behind stack_id are
// higher by one. Here they keep the ids that they have without it. Only
// initcall_finish, whose id stack_id takes, gets a free one behind them.
//
// Kernel: available_events lists them in this order; the ftrace system has the lowest
// ids, as enum trace_type does. A module's are put in front (__register_event).
func (k Kernel) Events() []*event.Type {
	all := slices.Concat(Declared(), otherTypes())
	if k.Full {
		all = append(all, fullTypes()...)
	}
	if k.Ext4 {
		all = append(all, ext4Types()...)
	}
	all = slices.DeleteFunc(all, func(t *event.Type) bool { return !k.has(t) })
	if k.Retval {
		all[slices.Index(all, FuncgraphExit.Type)] = FuncgraphExitRetval.Type
	}
	slices.SortStableFunc(all, func(a, b *event.Type) int { return cmp.Compare(order(a), order(b)) })
	return all
}

func (k Kernel) has(t *event.Type) bool {
	switch t.System {
	case "ftrace":
		switch t {
		case StackID.Type:
			return k.Stackmap
		case FnRet.Type:
			return k.Return
		case UserUnwindCookie.Type, UserUnwindStack.Type:
			return k.DeferredUnwind
		}
	case "inode_cache":
		return k.DeferredUnwind
	case "initcall":
		return t.Name != "initcall_finish" || (t.ID == movedID) == k.Stackmap
	case "ext4", "jbd2":
		return k.Ext4
	case "preemptirq", "osnoise", "ext2", "rv":
		return k.Full
	}
	return true
}

// order gives the place of an event in the kernel's list.
func order(t *event.Type) int {
	switch {
	case OfModule(t):
		return -t.ID
	case t.ID == movedID:
		return StackID.ID
	}
	return t.ID
}

// OfModule reports whether an event belonged to a module in the kernel that was
// captured.
func OfModule(t *event.Type) bool {
	return t.System == "9p" || t.System == "fscache" || t.System == "netfs" || t.System == "ext4" || t.System == "jbd2"
}

// Declared returns the events that are declared here as Go structs, in the order of
// their ids. Only their records can be written.
func Declared() []*event.Type {
	all := slices.Concat(
		ftraceTypes(), schedTypes(), kmemTypes(), irqTypes(), irqVectorTypes(), timerTypes(), workqueueTypes(),
		rawSyscallTypes(), signalTypes(), taskTypes(), exceptionTypes(), syscallTypes(), unwindTypes(), returnTypes(),
		preemptIRQTypes(), osnoiseTypes(), nmiTypes(), rvTypes(), blockTypes(),
	)
	slices.SortFunc(all, func(a, b *event.Type) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
