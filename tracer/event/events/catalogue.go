package events

import (
	"cmp"
	"slices"

	"ftracelab/tracer/event"
)

// Kernel is what decides which events a kernel has.
type Kernel struct {
	Stackmap       bool // patched with the stack map: ftrace:stack_id
	DeferredUnwind bool // patched with deferred unwinding: its two records
	Full           bool // built with everything, not as Debian's
	Retval         bool // built to record what functions return: FuncgraphExitRetval instead of FuncgraphExit
}

// All returns every event, as a kernel has them that is patched with both series and
// built with everything but return values.
func All() []*event.Type { return Kernel{Stackmap: true, DeferredUnwind: true, Full: true}.Events() }

// Events returns the kernel's events in its order: those of modules, the last one
// first, and then its own in the order of their ids. The slice is the caller's, the
// types are shared.
//
// Departure: a kernel with the stack map numbers all events behind stack_id one
// higher. Here they keep the ids they have without it, and initcall_finish, whose id
// stack_id has, takes a free one behind them.
//
// Kernel: available_events lists them in this order; the ftrace system has the lowest
// ids, as enum trace_type does. A module's are put in front (__register_event).
func (k Kernel) Events() []*event.Type {
	all := slices.DeleteFunc(slices.Concat(Declared(), otherTypes(), fullTypes()), func(t *event.Type) bool { return !k.has(t) })
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
		case UserUnwindCookie.Type, UserUnwindStack.Type:
			return k.DeferredUnwind
		}
	case "initcall":
		return t.Name != "initcall_finish" || (t.ID == movedID) == k.Stackmap
	case "preemptirq", "osnoise", "ext2", "rv":
		return k.Full
	}
	return true
}

// order is the place of an event in the kernel's list.
func order(t *event.Type) int {
	switch {
	case OfModule(t):
		return -t.ID
	case t.ID == movedID:
		return StackID.ID
	}
	return t.ID
}

// OfModule reports whether an event came with a module of the kernel that was captured.
func OfModule(t *event.Type) bool {
	return t.System == "9p" || t.System == "fscache" || t.System == "netfs"
}

// Declared returns the events that are declared here as Go structs, in the order of
// their ids: those whose records can be written.
func Declared() []*event.Type {
	all := slices.Concat(
		ftraceTypes(), schedTypes(), kmemTypes(), irqTypes(), irqVectorTypes(), timerTypes(), workqueueTypes(),
		rawSyscallTypes(), signalTypes(), taskTypes(), exceptionTypes(), syscallTypes(), unwindTypes(),
		preemptIRQTypes(), osnoiseTypes(), nmiTypes(), rvTypes(), blockTypes(),
	)
	slices.SortFunc(all, func(a, b *event.Type) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
