package tracer

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/record"
)

// Option is one of trace_options.
type Option uint8

// The options every instance has, in the order of trace_options.
//
// Kernel: TRACE_FLAGS, kernel/trace/trace.h.
const (
	OptPrintParent Option = iota
	OptSymOffset
	OptSymAddr
	OptVerbose
	OptRaw
	OptHex
	OptBin
	OptBlock
	OptFields
	OptPrintk
	OptAnnotate
	OptUserStacktrace
	OptSymUserobj
	OptPrintkMsgOnly
	OptContextInfo
	OptLatencyFormat
	OptRecordCmd
	OptRecordTGID
	OptOverwrite
	OptDisableOnFree
	OptIRQInfo
	OptMarkers
	OptEventFork
	OptPrintkDest
	OptPauseOnTrace
	OptHashPtr
	OptFunctionTrace
	OptFunctionFork
	OptDisplayGraph
	OptStacktrace
	OptStackmap
	OptUserStacktraceDelay
	// Options that belong to one tracer and are listed while it is current.
	OptNopAccept
	OptNopRefuse
	OptFuncStackTrace
	OptFuncNoRepeats
	OptGraphOverrun
	OptGraphCPU
	OptGraphOverhead
	OptGraphProc
	OptGraphDuration
	OptGraphAbstime
	OptGraphIRQs
	OptGraphTail
	OptGraphRetval
	OptGraphRetvalHex
	OptSleepTime
	OptGraphTime
	OptBlkClassic
	OptBlkCgroup
	OptBlkCgname
	numOptions
)

// option describes one row of the option table.
type option struct {
	name   string
	on     bool   // default
	tracer string // the tracer it belongs to; "" for all
	top    bool   // only the top instance has it
}

// options is the table from which trace_options, the options folder and the
// defaults come.
//
// Departure: block changes nothing here, as no poll(2) reaches a file of the tree.
var options = [numOptions]option{
	OptPrintParent:         {name: "print-parent", on: true},
	OptSymOffset:           {name: "sym-offset"},
	OptSymAddr:             {name: "sym-addr"},
	OptVerbose:             {name: "verbose"},
	OptRaw:                 {name: "raw"},
	OptHex:                 {name: "hex"},
	OptBin:                 {name: "bin"},
	OptBlock:               {name: "block"},
	OptFields:              {name: "fields"},
	OptPrintk:              {name: "trace_printk", on: true, top: true},
	OptAnnotate:            {name: "annotate", on: true},
	OptUserStacktrace:      {name: "userstacktrace"},
	OptSymUserobj:          {name: "sym-userobj"},
	OptPrintkMsgOnly:       {name: "printk-msg-only", top: true},
	OptContextInfo:         {name: "context-info", on: true},
	OptLatencyFormat:       {name: "latency-format"},
	OptRecordCmd:           {name: "record-cmd", on: true, top: true},
	OptRecordTGID:          {name: "record-tgid"},
	OptOverwrite:           {name: "overwrite", on: true},
	OptDisableOnFree:       {name: "disable_on_free"},
	OptIRQInfo:             {name: "irq-info", on: true},
	OptMarkers:             {name: "markers", on: true},
	OptEventFork:           {name: "event-fork"},
	OptPrintkDest:          {name: "trace_printk_dest", on: true},
	OptPauseOnTrace:        {name: "pause-on-trace"},
	OptHashPtr:             {name: "hash-ptr", on: true},
	OptFunctionTrace:       {name: "function-trace", on: true},
	OptFunctionFork:        {name: "function-fork"},
	OptDisplayGraph:        {name: "display-graph"},
	OptStacktrace:          {name: "stacktrace"},
	OptStackmap:            {name: "stackmap", top: true},
	OptUserStacktraceDelay: {name: "userstacktrace_delay"},

	OptNopAccept:      {name: "test_nop_accept", tracer: "nop"},
	OptNopRefuse:      {name: "test_nop_refuse", tracer: "nop"},
	OptFuncStackTrace: {name: "func_stack_trace", tracer: "function"},
	OptFuncNoRepeats:  {name: "func-no-repeats", tracer: "function"},
	OptGraphOverrun:   {name: "funcgraph-overrun", tracer: "function_graph"},
	OptGraphCPU:       {name: "funcgraph-cpu", on: true, tracer: "function_graph"},
	OptGraphOverhead:  {name: "funcgraph-overhead", on: true, tracer: "function_graph"},
	OptGraphProc:      {name: "funcgraph-proc", tracer: "function_graph"},
	OptGraphDuration:  {name: "funcgraph-duration", on: true, tracer: "function_graph"},
	OptGraphAbstime:   {name: "funcgraph-abstime", tracer: "function_graph"},
	OptGraphIRQs:      {name: "funcgraph-irqs", on: true, tracer: "function_graph"},
	OptGraphTail:      {name: "funcgraph-tail", tracer: "function_graph"},
	OptGraphRetval:    {name: "funcgraph-retval", tracer: "function_graph"},
	OptGraphRetvalHex: {name: "funcgraph-retval-hex", tracer: "function_graph"},
	OptSleepTime:      {name: "sleep-time", on: true, tracer: "function_graph"},
	OptGraphTime:      {name: "graph-time", on: true, tracer: "function_graph"},
	OptBlkClassic:     {name: "blk_classic", tracer: "blk", top: true},
	OptBlkCgroup:      {name: "blk_cgroup", tracer: "blk", top: true},
	OptBlkCgname:      {name: "blk_cgname", tracer: "blk", top: true},
}

// Options is the set of options that are on.
type Options uint64

// Has reports whether o is on.
func (s Options) Has(o Option) bool { return s>>o&1 != 0 }

func (s *Options) set(o Option, on bool) {
	*s &^= 1 << o
	if on {
		*s |= 1 << o
	}
}

// newOptions returns what an instance starts with: the top one with the
// defaults, another with what the top one has.
//
// Kernel: trace_array_create_systems and ZEROED_TRACE_FLAGS,
// kernel/trace/trace.c.
func (ft *Ftrace) newOptions(top bool) Options {
	var s Options
	for o, row := range options {
		s.set(Option(o), row.on)
	}
	if top {
		return s
	}
	for o := range options {
		s.set(Option(o), ft.top.opts.Has(Option(o)))
	}
	s.set(OptEventFork, false)
	s.set(OptFunctionFork, false)
	s.set(OptPrintkDest, false)
	s.set(OptUserStacktraceDelay, false)
	if ft.cfg.Stackmap.TopLevelOnly {
		s.set(OptStackmap, false)
	}
	return s
}

// built reports whether the kernel was built with what o needs.
func (ft *Ftrace) built(o Option) bool {
	switch o {
	case OptStackmap:
		return !ft.cfg.NoStackmap
	case OptUserStacktraceDelay:
		return ft.unwind != nil
	case OptGraphRetval, OptGraphRetvalHex:
		return ft.cfg.FunctionGraphRetval
	case OptGraphTime:
		return ft.cfg.FunctionProfiler
	}
	return true
}

// hasFile reports whether options has a file for o: those of every tracer, also
// of one that is not current.
func (tr *Instance) hasFile(o Option) bool {
	switch {
	case !tr.ft.built(o):
		return false
	case o == OptStackmap:
		return tr.top() || !tr.ft.cfg.Stackmap.TopLevelOnly
	}
	return tr.top() || !options[o].top
}

// listed reports whether trace_options shows o: tracers' own options are shown
// while their tracer is current.
func (tr *Instance) listed(o Option) bool {
	// v4 hides the file in an instance but the text still says nostackmap.
	return tr.ft.built(o) && (options[o].tracer == "" || options[o].tracer == tr.current.Name)
}

// showOptions is the text of trace_options.
//
// Kernel: tracing_trace_options_show, kernel/trace/trace.c.
func (tr *Instance) showOptions() string {
	var text []byte
	for o := range numOptions {
		if !tr.listed(o) {
			continue
		}
		if !tr.opts.Has(o) {
			text = append(text, "no"...)
		}
		text = append(append(text, options[o].name...), '\n')
	}
	return string(text)
}

// writeOption does what a word written to trace_options says: NAME or noNAME.
//
// Kernel: trace_set_options, kernel/trace/trace.c.
func (tr *Instance) writeOption(word string) error {
	name, on := word, true
	if len(word) > 2 && word[:2] == "no" {
		name, on = word[2:], false
	}
	for o := range numOptions {
		if options[o].name == name && tr.listed(o) {
			return tr.setOption(o, on)
		}
	}
	return fmt.Errorf("trace_options: no option %q: %w", name, syscall.EINVAL)
}

// setOption turns an option on or off, with the effects it has.
//
// Kernel: set_tracer_flag and __set_tracer_option, kernel/trace/trace.c.
func (tr *Instance) setOption(o Option, on bool) error {
	if tr.opts.Has(o) == on {
		return nil
	}
	switch o {
	case OptStackmap:
		if on && !tr.top() && tr.ft.cfg.Stackmap.TopLevelOnly {
			return fmt.Errorf("options/stackmap belongs to the top instance: %w", syscall.EINVAL)
		}
	case OptNopRefuse:
		return fmt.Errorf("test_nop_refuse: the nop tracer refuses: %w", syscall.EINVAL)
	case OptPrintkDest:
		return tr.setPrintkDest(on)
	case OptBlkClassic: // blk_tracer_set_flag, kernel/trace/blktrace.c
		tr.opts.set(OptContextInfo, !on)
	case OptOverwrite:
		if !on && tr.current.keepsOverwrite {
			return fmt.Errorf("overwrite: tracer %s needs it: %w", tr.current.Name, syscall.EINVAL)
		}
		tr.buf.SetOverwrite(on)
		tr.snap.buf.SetOverwrite(on)
	case OptUserStacktraceDelay:
		if err := tr.deferStacks(on); err != nil {
			return err
		}
	}
	tr.opts.set(o, on)
	if options[o].tracer != "" {
		// A tracer's options are the kernel's, not an instance's.
		for other := range tr.ft.all {
			other.opts.set(o, on)
		}
	}
	if o == OptFunctionFork || o == OptEventFork {
		tr.ft.listen()
	}
	tr.ft.optionChanged(tr)
	if tr.current.changed != nil {
		tr.current.changed(tr, o)
	}
	return nil
}

// optionChanged brings what depends on an instance's options up to date.
func (ft *Ftrace) optionChanged(tr *Instance) {
	// v2 lets an instance set the option, but only the top one has a map.
	tr.rec.Stacks().Kernel = record.FullStack
	if tr.top() && tr.opts.Has(OptStackmap) && ft.mapped {
		tr.rec.Stacks().Kernel = record.StackID
	}
	ft.recordTGID = false
	for other := range ft.all {
		ft.recordTGID = ft.recordTGID || other.opts.Has(OptRecordTGID)
	}
}
