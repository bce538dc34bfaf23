package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/fgraph"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
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
	{OptGraphRetval, fgraph.Retval},
	{OptGraphRetvalHex, fgraph.RetvalHex},
}

// graphInit registers the instance with the shadow stacks: one record at a
// function's entry, one at its return.
//
// Kernel: graph_trace_init, kernel/trace/trace_functions_graph.c.
func graphInit(i *Instance) error {
	i.graph = &fgraph.Ops{
		Entry:  i.graphEntry,
		Return: i.graphReturn,
	}
	if err := i.ft.registerGraph(i.graph, &i.functions); err != nil {
		i.graph = nil
		return fmt.Errorf("function_graph: %w: %w", err, syscall.ENOSPC)
	}
	return nil
}

// Kernel: graph_trace_reset, kernel/trace/trace_functions_graph.c.
func graphReset(i *Instance) {
	i.ft.unregisterGraph(i.graph)
	i.graph = nil
}

// graphEntry records a call, if the filters, the pids and the depth let it
// through; only then it wants to see the return. With a tracing_thresh the
// return alone is recorded. Without funcgraph-irqs, calls inside interrupts are
// left out.
//
// Kernel: trace_graph_entry, kernel/trace/trace_functions_graph.c, under the
// recursion lock of function_graph_enter, kernel/trace/fgraph.c.
func (i *Instance) graphEntry(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
	ft, word := i.ft, s.Var(i.graph)
	if *word&graphNotrace != 0 {
		return false
	}
	if ft.graphNotrace.has(call.Func) {
		*word |= graphNotrace // until its return, which is why that is wanted
		return true
	}
	if !i.followsTask(c) || !ft.graphSelects(c, word, call) || ft.maxDepth > 0 && uint32(call.Depth) >= ft.maxDepth {
		return false
	}
	if c.InHardIRQ && !i.opts.Has(OptGraphIRQs) && !ft.data(c.Current).graphIRQ {
		return false
	}
	if ft.thresh > 0 {
		return true
	}
	if !i.records(c) {
		return false
	}
	if !i.recordCall(c, call) {
		return false
	}
	return true
}

// graphReturn records a return.
//
// Kernel: trace_graph_return and trace_graph_thresh_return,
// kernel/trace/trace_functions_graph.c.
func (i *Instance) graphReturn(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
	word := s.Var(i.graph)
	graphLeaves(word, ret)
	if *word&graphNotrace != 0 {
		*word &^= graphNotrace
		return
	}
	if ret.Rettime-ret.Calltime < i.ft.thresh || !i.records(c) {
		return
	}
	i.recordReturn(c, ret)
}

// recordCall writes a call's entry, recordReturn its return.
//
// Kernel: __trace_graph_entry and __trace_graph_return.
func (i *Instance) recordCall(c *machine.CPU, call fgraph.Call) bool {
	return i.recordEntry(c, unpreemptible(common(c)), call)
}

// recordEntry says whether there was room.
func (i *Instance) recordEntry(c *machine.CPU, h event.Common, call fgraph.Call) bool {
	rec := events.FuncgraphEntryRecord{Func: call.Func, Depth: int32(call.Depth)}
	i.scratch = events.FuncgraphEntry.Append(i.scratch[:0], h, &rec)
	if i.rec.Event(c.ID, contextOf(c), i.scratch) != nil {
		return false // the buffer counts what it refuses
	}
	i.ft.recorded[c.ID] = true
	i.ft.remember(c.Current)
	return true
}

func (i *Instance) recordReturn(c *machine.CPU, ret fgraph.Ret) {
	if i.ft.cfg.FunctionGraphRetval {
		rec := events.FuncgraphExitRetvalRecord{
			Func: ret.Func, Retval: ret.Value, Depth: int32(ret.Depth), Overrun: ret.Overrun,
			Calltime: ret.Calltime, Rettime: ret.Rettime,
		}
		i.scratch = events.FuncgraphExitRetval.Append(i.scratch[:0], common(c), &rec)
	} else {
		rec := events.FuncgraphExitRecord{
			Func: ret.Func, Depth: int32(ret.Depth), Overrun: ret.Overrun,
			Calltime: ret.Calltime, Rettime: ret.Rettime,
		}
		i.scratch = events.FuncgraphExit.Append(i.scratch[:0], common(c), &rec)
	}
	if i.rec.Event(c.ID, contextOf(c), i.scratch) == nil {
		i.ft.recorded[c.ID] = true
		i.ft.remember(c.Current)
	}
}

// showThresh and setThresh are tracing_thresh, in microseconds. A change starts
// the tracer of the top instance anew, so that calls under way are not shown.
//
// Kernel: tracing_thresh_write, kernel/trace/trace.c, and
// graph_trace_update_thresh, kernel/trace/trace_functions_graph.c.
func (ft *Ftrace) showThresh() string { return strconv.FormatUint(ft.thresh/1000, 10) + "\n" }

func (ft *Ftrace) setThresh(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("tracing_thresh: %w", err)
	}
	ft.thresh = n * 1000
	if i := ft.top; i.graph != nil {
		graphReset(i)
		return graphInit(i)
	}
	return nil
}
