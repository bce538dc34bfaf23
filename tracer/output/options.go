package output

import "ftracelab/fgraph"

// Options are the trace_options that change the text of the file trace.
type Options uint32

// The options by their kernel names, which OptionNames lists.
const (
	PrintParent Options = 1 << iota
	SymOffset
	SymAddr
	Verbose
	Raw
	Hex
	Bin
	Fields
	TracePrintk
	Annotate
	SymUserObj
	PrintkMsgOnly
	ContextInfo
	LatencyFormat
	RecordTGID
	IRQInfo
	HashPtr
	DisplayGraph // function calls of the latency tracers as a call graph
	BlkClassic   // an option of the blk tracer; the kernel switches context-info off with it
	BlkCgname    // an option of the blk tracer: show the paths of cgroups

	// DefaultOptions are those that are on after boot.
	DefaultOptions = PrintParent | TracePrintk | Annotate | ContextInfo | IRQInfo | HashPtr
)

// OptionNames returns the names of the options as in trace_options, the lowest bit first.
//
// Kernel: TRACE_FLAGS, kernel/trace/trace.h.
func OptionNames() []string {
	return []string{
		"print-parent", "sym-offset", "sym-addr", "verbose", "raw", "hex", "bin", "fields",
		"trace_printk", "annotate", "sym-userobj", "printk-msg-only", "context-info",
		"latency-format", "record-tgid", "irq-info", "hash-ptr", "display-graph", "blk_classic", "blk_cgname",
	}
}

// OptionByName finds an option by its name; 0 if there is none of that name.
func OptionByName(name string) Options {
	for i, n := range OptionNames() {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// graphOptionNames are the names of the bits of fgraph.Options, the lowest first.
// RelTime has no name, because only the latency tracers set it.
//
// Kernel: trace_opts, kernel/trace/trace_functions_graph.c.
func graphOptionNames() []string {
	return []string{
		"funcgraph-overrun", "funcgraph-cpu", "funcgraph-overhead", "funcgraph-proc", "funcgraph-duration",
		"funcgraph-abstime", "", "funcgraph-irqs", "funcgraph-tail", "funcgraph-retval", "funcgraph-retval-hex",
	}
}

// GraphOptionByName finds an option of the call graph by its name; 0 if there is none
// of that name.
func GraphOptionByName(name string) fgraph.Options {
	for i, n := range graphOptionNames() {
		if n == name && n != "" {
			return 1 << i
		}
	}
	return 0
}
