package events

import "ftracelab/tracer/event"

// CodedStackRecord is the kernel stack of the event before it, as what it shares with the
// last CodedStackRecord of the same context on the same sub-buffer: its Shared outermost
// addresses are the same, and Rest has the Own others.
type CodedStackRecord struct {
	Own    uint16 `c:"u16 own"`
	Shared uint16 `c:"u16 shared"`
	Rest   []byte `c:"u8 rest[]"`
}

// CodedStack is ftrace:coded_stack.
//
// Departure: no kernel has such a record. It is in no kernel's list of events, and its
// id is above those of a kernel.
var CodedStack = event.Define[CodedStackRecord](0xfff2, "ftrace", "coded_stack",
	`"<coded_stack %u own, %u shared>", REC->own, REC->shared`)
