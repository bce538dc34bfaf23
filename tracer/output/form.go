package output

import "ftracelab/fgraph"

// form says what a tracer prints in a way of its own. Most tracers have the zero form.
// The tracer's name selects the form, because a captured text or trace.dat tells
// nothing else about the tracer.
//
// Kernel: print_header, print_line and flags of struct tracer.
type form struct {
	header  string // replaces the names of the columns; if classic is set, only with the option blk_classic
	classic bool   // its records have a form of their own with the option blk_classic
	mmio    bool   // its records are printed in mmiotrace's form, not by their events' print formats
	graph   bool   // the text is always a call graph
	// latency are the options of its call graph with display-graph; 0: it has no call
	// graph.
	latency fgraph.Options
}

// irqsGraph and wakeupGraph are the call graphs of the latency tracers.
//
// Kernel: GRAPH_TRACER_FLAGS, kernel/trace/trace_irqsoff.c and trace_sched_wakeup.c.
const (
	irqsGraph   = fgraph.ShowCPU | fgraph.Proc | fgraph.RelTime | fgraph.Duration
	wakeupGraph = irqsGraph | fgraph.Overhead | fgraph.IRQs
)

var forms = map[string]form{
	"timerlat":       {header: timerlatHeader},
	"osnoise":        {header: osnoiseHeader},
	"blk":            {header: blkHeader, classic: true},
	"mmiotrace":      {mmio: true},
	"function_graph": {graph: true},
	"wakeup_dl":      {latency: wakeupGraph},
	"wakeup_rt":      {latency: wakeupGraph},
	"wakeup":         {latency: wakeupGraph},
	"preemptirqsoff": {latency: irqsGraph},
	"preemptoff":     {latency: irqsGraph},
	"irqsoff":        {latency: irqsGraph},
}
