// Package option is the table of trace_options: the options that decide how an
// instance records and prints, each a row with its name and its default.
//
// Kernel: TRACE_FLAGS, kernel/trace/trace.h, and the tracer_opt tables of the tracers.
package option

// Option is one of trace_options.
type Option uint8

// The options that every instance has, in the order of trace_options.
//
// Kernel: TRACE_FLAGS, kernel/trace/trace.h.
const (
	PrintParent Option = iota
	SymOffset
	SymAddr
	Verbose
	Raw
	Hex
	Bin
	Block
	Fields
	Printk
	Annotate
	UserStacktrace
	SymUserobj
	PrintkMsgOnly
	ContextInfo
	LatencyFormat
	RecordCmd
	RecordTGID
	Overwrite
	DisableOnFree
	IRQInfo
	Markers
	EventFork
	PrintkDest
	PauseOnTrace
	HashPtr
	FunctionTrace
	FunctionFork
	DisplayGraph
	Stacktrace
	Stackmap
	UserStacktraceDelay
	// Options that belong to one tracer. They are listed while it is current.
	NopAccept
	NopRefuse
	FuncStackTrace
	FuncNoRepeats
	GraphOverrun
	GraphCPU
	GraphOverhead
	GraphProc
	GraphDuration
	GraphAbstime
	GraphIRQs
	GraphTail
	GraphRetval
	GraphRetvalHex
	SleepTime
	GraphTime
	BlkClassic
	BlkCgroup
	BlkCgname
	Count
)

// Row describes an option.
type Row struct {
	Name   string
	On     bool   // default
	Tracer string // the tracer to which it belongs; "": it belongs to all
	Top    bool   // only the top instance has it
}

// Table is the table from which trace_options, the folder options and the defaults are
// made.
var Table = [Count]Row{
	PrintParent:         {Name: "print-parent", On: true},
	SymOffset:           {Name: "sym-offset"},
	SymAddr:             {Name: "sym-addr"},
	Verbose:             {Name: "verbose"},
	Raw:                 {Name: "raw"},
	Hex:                 {Name: "hex"},
	Bin:                 {Name: "bin"},
	Block:               {Name: "block"},
	Fields:              {Name: "fields"},
	Printk:              {Name: "trace_printk", On: true, Top: true},
	Annotate:            {Name: "annotate", On: true},
	UserStacktrace:      {Name: "userstacktrace"},
	SymUserobj:          {Name: "sym-userobj"},
	PrintkMsgOnly:       {Name: "printk-msg-only", Top: true},
	ContextInfo:         {Name: "context-info", On: true},
	LatencyFormat:       {Name: "latency-format"},
	RecordCmd:           {Name: "record-cmd", On: true, Top: true},
	RecordTGID:          {Name: "record-tgid"},
	Overwrite:           {Name: "overwrite", On: true},
	DisableOnFree:       {Name: "disable_on_free"},
	IRQInfo:             {Name: "irq-info", On: true},
	Markers:             {Name: "markers", On: true},
	EventFork:           {Name: "event-fork"},
	PrintkDest:          {Name: "trace_printk_dest", On: true},
	PauseOnTrace:        {Name: "pause-on-trace"},
	HashPtr:             {Name: "hash-ptr", On: true},
	FunctionTrace:       {Name: "function-trace", On: true},
	FunctionFork:        {Name: "function-fork"},
	DisplayGraph:        {Name: "display-graph"},
	Stacktrace:          {Name: "stacktrace"},
	Stackmap:            {Name: "stackmap", Top: true},
	UserStacktraceDelay: {Name: "userstacktrace_delay"},

	NopAccept:      {Name: "test_nop_accept", Tracer: "nop"},
	NopRefuse:      {Name: "test_nop_refuse", Tracer: "nop"},
	FuncStackTrace: {Name: "func_stack_trace", Tracer: "function"},
	FuncNoRepeats:  {Name: "func-no-repeats", Tracer: "function"},
	GraphOverrun:   {Name: "funcgraph-overrun", Tracer: "function_graph"},
	GraphCPU:       {Name: "funcgraph-cpu", On: true, Tracer: "function_graph"},
	GraphOverhead:  {Name: "funcgraph-overhead", On: true, Tracer: "function_graph"},
	GraphProc:      {Name: "funcgraph-proc", Tracer: "function_graph"},
	GraphDuration:  {Name: "funcgraph-duration", On: true, Tracer: "function_graph"},
	GraphAbstime:   {Name: "funcgraph-abstime", Tracer: "function_graph"},
	GraphIRQs:      {Name: "funcgraph-irqs", On: true, Tracer: "function_graph"},
	GraphTail:      {Name: "funcgraph-tail", Tracer: "function_graph"},
	GraphRetval:    {Name: "funcgraph-retval", Tracer: "function_graph"},
	GraphRetvalHex: {Name: "funcgraph-retval-hex", Tracer: "function_graph"},
	SleepTime:      {Name: "sleep-time", On: true, Tracer: "function_graph"},
	GraphTime:      {Name: "graph-time", On: true, Tracer: "function_graph"},
	BlkClassic:     {Name: "blk_classic", Tracer: "blk", Top: true},
	BlkCgroup:      {Name: "blk_cgroup", Tracer: "blk", Top: true},
	BlkCgname:      {Name: "blk_cgname", Tracer: "blk", Top: true},
}

// Set is the set of options that are on.
type Set uint64

// Has reports whether o is on.
func (s Set) Has(o Option) bool { return s>>o&1 != 0 }

// Set adds o to the set, or removes it.
func (s *Set) Set(o Option, on bool) {
	*s &^= 1 << o
	if on {
		*s |= 1 << o
	}
}
