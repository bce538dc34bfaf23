package output

import "ftracelab/fgraph"

// form is how a tracer prints what is its own; the zero form is that of most tracers. A
// name alone selects it, since that is all that a captured text or trace.dat tells.
//
// Kernel: print_header, print_line and flags of struct tracer.
type form struct {
	header  string // instead of the names of the columns; with classic, only then
	classic bool   // its records have a form of their own with the option blk_classic
	mmio    bool   // its records are those of mmiotrace, whatever their events print
	graph   bool   // it is always a call graph
	// latency is its call graph with the option display-graph; 0: it has none.
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
