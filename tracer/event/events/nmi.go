package events

import "ftracelab/tracer/event"

// nmiTypes are the events of the system nmi.
//
// Kernel: include/trace/events/nmi.h.
func nmiTypes() []*event.Type { return []*event.Type{NMIHandler.Type} }

// NMIHandlerRecord is one call of a handler of NMIs: how long it took in ns, and how
// many NMIs it found to be its own.
type NMIHandlerRecord struct {
	Handler uint64 `c:"void * handler"`
	DeltaNS int64  `c:"s64 delta_ns"`
	Handled int32  `c:"int handled"`
}

// NMIHandler is nmi:nmi_handler.
var NMIHandler = event.Define[NMIHandlerRecord](97, "nmi", "nmi_handler",
	`"%ps() delta_ns: %lld handled: %d", REC->handler, REC->delta_ns, REC->handled`)
