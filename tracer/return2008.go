package tracer

import (
	"ftracelab/fgraph/slots"
	"ftracelab/machine"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/functions"
	"ftracelab/tracer/plugin"
	"ftracelab/tracer/record"
)

// returnTracer is the row of the tracer return of 2008.
//
// Kernel: return_trace, kernel/trace/trace_functions_return.c in the mail of 2008-10-30.
//
// Departure: that kernel traces all functions, because the tracer does not work together
// with dynamic ftrace, and so with filters; here it heeds set_ftrace_filter. That
// kernel's machine hangs with more than one slot.
func (ft *Ftrace) returnTracer() plugin.Tracer {
	return plugin.Tracer{
		Name:  "return",
		Init:  initWith((*Instance).returnInit),
		Reset: with((*Instance).returnReset),
	}
}

// returnInit registers the tracer with the slots. Calls that are in flight from an
// earlier time keep their slots until they return.
//
// Kernel: register_ftrace_return, kernel/trace/ftrace.c in the same mail.
func (tr *Instance) returnInit() error {
	table := tr.ft.slots
	table.Return = tr.functionReturned
	tr.ops = functions.Ops{
		Hash: &tr.functions, Handler: "prepare_ftrace_return",
		Call: func(c *machine.CPU, f *machine.Frame) { table.Enter(c, f) },
	}
	tr.ft.users.Register(&tr.ops)
	return nil
}

// Kernel: unregister_ftrace_return.
func (tr *Instance) returnReset() { tr.ft.slots.Return = nil }

// functionReturned records a return.
//
// Kernel: trace_function_return.
func (tr *Instance) functionReturned(c *machine.CPU, s *slots.Slot) {
	if !tr.records(c) {
		return
	}
	rec := events.FnRetRecord{IP: s.Ret, Calltime: s.Calltime, Rettime: s.Rettime}
	if record.Write(tr.rec, c.ID, contextOf(c), events.FnRet, common(c), &rec) == nil { // the buffer counts what it refuses
		tr.ft.cmdlines.Recorded(c)
	}
}
