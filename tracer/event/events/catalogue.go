package events

import (
	"cmp"
	"slices"

	"ftracelab/tracer/event"
)

// All returns every event in the kernel's order, which is that of their ids. The
// slice is the caller's, the types are shared.
//
// Kernel: available_events lists them in this order; the ftrace system's come
// first, as enum trace_type does.
func All() []*event.Type {
	all := slices.Concat(Declared(), otherTypes())
	slices.SortFunc(all, func(a, b *event.Type) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Declared returns the events that are declared here as Go structs, in the order of
// their ids: those whose records can be written.
func Declared() []*event.Type {
	all := slices.Concat(
		ftraceTypes(), schedTypes(), kmemTypes(), irqTypes(), irqVectorTypes(), timerTypes(), workqueueTypes(),
		rawSyscallTypes(), signalTypes(), taskTypes(), exceptionTypes(), syscallTypes(), unwindTypes(),
	)
	slices.SortFunc(all, func(a, b *event.Type) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
