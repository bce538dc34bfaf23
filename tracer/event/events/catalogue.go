package events

import (
	"cmp"
	"slices"

	"ftracelab/tracer/event"
)

// All returns every event in the kernel's order: those of modules, the last one
// first, and then the kernel's own in the order of their ids. The slice is the
// caller's, the types are shared.
//
// Kernel: available_events lists them in this order; the ftrace system has the lowest
// ids, as enum trace_type does. A module's are put in front (__register_event).
func All() []*event.Type {
	all := slices.Concat(Declared(), otherTypes())
	slices.SortFunc(all, func(a, b *event.Type) int { return cmp.Compare(order(a), order(b)) })
	return all
}

// order is the place of an event in the kernel's list.
func order(t *event.Type) int {
	switch t.System {
	case "9p", "fscache", "netfs": // modules of the kernel that was captured
		return -t.ID
	}
	return t.ID
}

// Declared returns the events that are declared here as Go structs, in the order of
// their ids: those whose records can be written.
func Declared() []*event.Type {
	all := slices.Concat(
		ftraceTypes(), schedTypes(), kmemTypes(), irqTypes(), irqVectorTypes(), timerTypes(), workqueueTypes(),
		rawSyscallTypes(), signalTypes(), taskTypes(), exceptionTypes(), syscallTypes(), unwindTypes(),
		preemptIRQTypes(), osnoiseTypes(),
	)
	slices.SortFunc(all, func(a, b *event.Type) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
