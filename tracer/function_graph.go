package tracer

import (
	"fmt"
	"syscall"

	"ftracelab/fgraph"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// graphPrintOptions pairs the funcgraph options with the printer's.
var graphPrintOptions = []struct {
	opt Option
	bit fgraph.Options
}{
	{OptGraphOverrun, fgraph.Overrun},
	{OptGraphCPU, fgraph.ShowCPU},
	{OptGraphOverhead, fgraph.Overhead},
	{OptGraphProc, fgraph.Proc},
	{OptGraphDuration, fgraph.Duration},
	{OptGraphAbstime, fgraph.AbsTime},
	{OptGraphIRQs, fgraph.IRQs},
	{OptGraphTail, fgraph.Tail},
}

// graphInit registers the instance with the shadow stacks: one record at a
// function's entry, one at its return.
//
// Kernel: graph_trace_init, kernel/trace/trace_functions_graph.c.
func graphInit(i *Instance) error {
	i.graph = &fgraph.Ops{
		Entry:  i.graphEntry,
		Return: i.graphReturn,
		Filter: i.ft.traces,
	}
	if err := i.ft.graph.Register(i.graph); err != nil {
		i.graph = nil
		return fmt.Errorf("function_graph: %w: %w", err, syscall.ENOSPC)
	}
	return nil
}

// Kernel: graph_trace_reset, kernel/trace/trace_functions_graph.c.
func graphReset(i *Instance) {
	// An error would say that it was not registered, which is what is wanted.
	_ = i.ft.graph.Unregister(i.graph)
	i.graph = nil
}

// graphEntry records a call. Without funcgraph-irqs, calls inside interrupts
// are left out.
//
// Kernel: trace_graph_entry, kernel/trace/trace_functions_graph.c, under the
// recursion lock of function_graph_enter, kernel/trace/fgraph.c.
func (i *Instance) graphEntry(c *machine.CPU, _ *fgraph.Stack, call fgraph.Call) bool {
	if !i.opts.Has(OptGraphIRQs) && c.InHardIRQ {
		return false
	}
	if depth := i.ft.maxDepth; depth > 0 && uint32(call.Depth) >= depth {
		return false
	}
	if !i.records(c) {
		return true
	}
	h := common(c)
	if h.PreemptCount&0xf < 0xf {
		h.PreemptCount++ // the tracer's own: it runs with preemption disabled
	}
	rec := events.FuncgraphEntryRecord{Func: call.Func, Depth: int32(call.Depth)}
	i.scratch = events.FuncgraphEntry.Append(i.scratch[:0], h, &rec)
	_ = i.rec.Event(c.ID, contextOf(c), i.scratch) // the buffer counts what it refuses
	i.ft.remember(c.Current)
	return true
}

// graphReturn records a return.
//
// Kernel: trace_graph_return, kernel/trace/trace_functions_graph.c.
func (i *Instance) graphReturn(c *machine.CPU, _ *fgraph.Stack, ret fgraph.Ret) {
	if !i.records(c) {
		return
	}
	rec := events.FuncgraphExitRecord{
		Func: ret.Func, Depth: int32(ret.Depth), Overrun: ret.Overrun,
		Calltime: ret.Calltime, Rettime: ret.Rettime,
	}
	i.scratch = events.FuncgraphExit.Append(i.scratch[:0], common(c), &rec)
	_ = i.rec.Event(c.ID, contextOf(c), i.scratch) // the buffer counts what it refuses
}
