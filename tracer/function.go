package tracer

import (
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// functionCall is the function tracer: one record for each entry.
//
// Kernel: function_trace_call and function_stack_trace_call,
// kernel/trace/trace_functions.c.
func functionCall(i *Instance, c *machine.CPU, f *machine.Frame) {
	h, ctx := common(c), contextOf(c)
	i.scratch = events.Function.Append(i.scratch[:0], h, &events.FunctionRecord{IP: f.IP, ParentIP: f.Parent()})
	if i.rec.Event(c.ID, ctx, i.scratch) != nil {
		return
	}
	i.ft.cmdlines.record(c.Current)
	if i.functionStacks() {
		i.stack.IPs = c.KernelStack(append(i.stack.IPs[:0], trampoline))
		i.kernelStack(c, ctx, h)
	}
}

// functionStacks reports whether the function tracer records stacks. On a real
// 6.12 only func_stack_trace asks for them; the documented stackmap promises
// that options/stacktrace covers the function tracer too while it is on.
func (i *Instance) functionStacks() bool {
	if i.opts.Has(OptFuncStackTrace) {
		return true
	}
	return i.opts.Has(OptStacktrace) && i.opts.Has(OptStackmap) && i.ft.stackmap.Config().FunctionStacks
}

// trampoline stands in a stack for the address of an ftrace trampoline, which
// has no symbol.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, kernel/trace/trace.h.
const trampoline = 0x7fffffff
