package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
)

// graphPrintOptions pairs the funcgraph options with the printer's.
var graphPrintOptions = []struct {
	opt option.Option
	bit fgraph.Options
}{
	{option.GraphOverrun, fgraph.Overrun},
	{option.GraphCPU, fgraph.ShowCPU},
	{option.GraphOverhead, fgraph.Overhead},
	{option.GraphProc, fgraph.Proc},
	{option.GraphDuration, fgraph.Duration},
	{option.GraphAbstime, fgraph.AbsTime},
	{option.GraphIRQs, fgraph.IRQs},
	{option.GraphTail, fgraph.Tail},
	{option.GraphRetval, fgraph.Retval},
	{option.GraphRetvalHex, fgraph.RetvalHex},
}

// graphInit registers the instance with the shadow stacks: one record at a
// function's entry, one at its return. Whether short calls are left out is decided now: a
// tracing_thresh that is written later reaches the top instance only, which starts anew.
//
// Kernel: graph_trace_init, kernel/trace/trace_functions_graph.c.
func graphInit(tr *Instance) error {
	tr.graph = &fgraph.Ops{Entry: tr.graphEntry, Return: tr.graphReturn}
	if tr.ft.thresh > 0 {
		tr.graph.Return = tr.graphThreshReturn
	}
	if err := tr.ft.users.RegisterGraph(tr.graph, &tr.functions); err != nil {
		tr.graph = nil
		return fmt.Errorf("function_graph: %w: %w", err, syscall.ENOSPC)
	}
	return nil
}

// Kernel: graph_trace_reset, kernel/trace/trace_functions_graph.c.
func graphReset(tr *Instance) {
	tr.ft.users.UnregisterGraph(tr.graph)
	tr.graph = nil
}

// graphEntry records a call if the filters, the pids and the depth let it through;
// only then does it want to see the return. With a tracing_thresh, only the return is
// recorded. Without funcgraph-irqs, calls inside interrupts are left out.
//
// Kernel: trace_graph_entry, kernel/trace/trace_functions_graph.c, under the
// recursion lock of function_graph_enter, kernel/trace/fgraph.c.
func (tr *Instance) graphEntry(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
	ft, word := tr.ft, s.Var(tr.graph)
	if *word&graphNotrace != 0 {
		return false
	}
	if ft.graphFilters.notrace.Has(call.Func) {
		*word |= graphNotrace // until the function returns, so the return is wanted
		return true
	}
	if !tr.followsTask(c) || !ft.graphFilters.selects(c, word, call) || ft.graphFilters.maxDepth > 0 && uint32(call.Depth) >= ft.graphFilters.maxDepth {
		return false
	}
	if c.InHardIRQ && !tr.opts.Has(option.GraphIRQs) && !ft.data(c.Current).graphIRQ {
		return false
	}
	if ft.thresh > 0 {
		return true
	}
	if !tr.records(c) {
		return false
	}
	if !tr.recordCall(c, call) {
		return false
	}
	return true
}

// graphThreshReturn records the return of a call that took tracing_thresh or longer.
//
// Kernel: trace_graph_thresh_return, kernel/trace/trace_functions_graph.c.
func (tr *Instance) graphThreshReturn(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
	if word := s.Var(tr.graph); *word&graphNotrace == 0 && ret.Rettime-ret.Calltime < tr.ft.thresh {
		graphLeaves(word, ret)
		return
	}
	tr.graphReturn(c, s, ret)
}

// graphReturn records a return.
//
// Kernel: trace_graph_return, kernel/trace/trace_functions_graph.c.
func (tr *Instance) graphReturn(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
	word := s.Var(tr.graph)
	graphLeaves(word, ret)
	if *word&graphNotrace != 0 {
		*word &^= graphNotrace
		return
	}
	if tr.records(c) {
		tr.recordReturn(c, ret)
	}
}

// recordCall writes the record of a call's entry, recordReturn that of its return.
//
// Kernel: __trace_graph_entry and __trace_graph_return.
func (tr *Instance) recordCall(c *machine.CPU, call fgraph.Call) bool {
	return tr.recordEntry(c, common(c).Unpreemptible(), call)
}

// recordEntry writes the record of an entry and reports whether there was room.
func (tr *Instance) recordEntry(c *machine.CPU, h event.Common, call fgraph.Call) bool {
	rec := events.FuncgraphEntryRecord{Func: call.Func, Depth: int32(call.Depth)}
	if record.Write(tr.rec, c.ID, contextOf(c), events.FuncgraphEntry, h, &rec) != nil {
		return false // the buffer counts what it refuses
	}
	tr.ft.cmdlines.Recorded(c)
	return true
}

func (tr *Instance) recordReturn(c *machine.CPU, ret fgraph.Ret) {
	var err error
	if tr.ft.cfg.FunctionGraphRetval {
		rec := events.FuncgraphExitRetvalRecord{
			Func: ret.Func, Retval: ret.Value, Depth: int32(ret.Depth), Overrun: ret.Overrun,
			Calltime: ret.Calltime, Rettime: ret.Rettime,
		}
		err = record.Write(tr.rec, c.ID, contextOf(c), events.FuncgraphExitRetval, common(c), &rec)
	} else {
		rec := events.FuncgraphExitRecord{
			Func: ret.Func, Depth: int32(ret.Depth), Overrun: ret.Overrun,
			Calltime: ret.Calltime, Rettime: ret.Rettime,
		}
		err = record.Write(tr.rec, c.ID, contextOf(c), events.FuncgraphExit, common(c), &rec)
	}
	if err == nil { // the buffer counts what it refuses
		tr.ft.cmdlines.Recorded(c)
	}
}

// showThresh and setThresh read and write tracing_thresh, in microseconds. A write
// restarts function_graph in the top instance if it is selected, so that calls under
// way are not shown.
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
	if tr := ft.top; tr.graph != nil {
		graphReset(tr)
		return graphInit(tr)
	}
	return nil
}
