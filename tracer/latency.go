package tracer

import (
	"fmt"
	"strconv"

	"ftracelab/tracer/functions"
	"ftracelab/tracer/record"

	"ftracelab/fgraph"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/output"
	"ftracelab/workload/machine"
)

// latency is what an instance keeps of the longest latency that one of the
// latency tracers has seen. The tracers record into the buffer all the time; at
// a new maximum the buffer becomes the snapshot, and trace shows that.
//
// Kernel: max_latency of struct trace_array and struct trace_array_cpu,
// kernel/trace/trace.h.
type latency struct {
	max      uint64      // tracing_max_latency, in units of the trace clock
	sections []section   // by CPU: what is being measured there
	of       longest     // what the snapshot holds
	options  option.Set  // before the tracer set its own
	graph    *fgraph.Ops // while options/display-graph is on
}

// section is a piece of code whose length is measured on a CPU.
type section struct {
	began      uint64 // time; of a wake-up, when it happened
	start, end uint64 // addresses
	sequence   uint64 // how many maxima there were when it began
}

// longest describes a snapshot: which section it shows.
type longest struct {
	header output.Latency
	began  uint64 // entries before it do not belong to it
}

// reports says whether a latency is to be kept: the longest so far, or with
// tracing_thresh each that is not shorter.
//
// Kernel: report_latency, kernel/trace/trace_irqsoff.c.
func (tr *Instance) reports(delta uint64) bool {
	if tr.ft.thresh != 0 {
		return delta >= tr.ft.thresh
	}
	return delta > tr.latency.max
}

// keepLongest makes the buffer the snapshot, of one CPU or with cpu < 0 of all:
// it holds the longest latency, delta, of a task on the CPU named in at.
//
// Kernel: update_max_tr, update_max_tr_single and __update_max_tr,
// kernel/trace/trace.c.
func (tr *Instance) keepLongest(cpu int, delta uint64, t *machine.Task, at int) {
	tr.latency.max = delta
	if err := tr.takeSnapshot(cpu); err != nil {
		return // somebody reads it just now; the next maximum will do
	}
	s := &tr.latency.sections[at]
	tr.latency.of = longest{began: s.began, header: output.Latency{
		Microseconds: microseconds(delta), CPU: at, Comm: t.Comm, PID: int32(t.PID), UID: uint32(t.UID),
		Nice: int64(t.Nice()), Policy: int64(t.Policy), RTPriority: int64(t.RTPriority()),
		Start: s.start, End: s.end,
	}}
	tr.ft.cmdlines.Remember(t)
}

// microseconds rounds ns.
//
// Kernel: nsecs_to_usecs, kernel/trace/trace.c.
func microseconds(ns uint64) uint64 { return (ns + 500) / 1000 }

// microseconds is a file with a time in ns that reads and writes microseconds.
//
// Kernel: tracing_nsecs_read and tracing_nsecs_write, kernel/trace/trace.c.
func (tr *Instance) microseconds(name string, ns *uint64) tracefile.Node {
	return tr.value(name, 0o640,
		func() string { return strconv.FormatUint(microseconds(*ns), 10) + "\n" },
		func(s string) error {
			n, err := tracefile.ParseUserUlong(s, 10)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*ns = n * 1000
			return nil
		})
}

// latencyInit sets the options without which a latency tracer would show
// nothing sensible; latencyReset gives them back.
//
// Kernel: __irqsoff_tracer_init, kernel/trace/trace_irqsoff.c, and
// __wakeup_tracer_init, kernel/trace/trace_sched_wakeup.c.
func (tr *Instance) latencyInit(opts ...option.Option) error {
	tr.latency = latency{options: tr.opts, sections: make([]section, tr.buf.CPUs())}
	for _, o := range append(opts, option.Overwrite, option.LatencyFormat) {
		if err := tr.setOption(o, true); err != nil {
			return err
		}
	}
	return nil
}

func (tr *Instance) latencyReset(opts ...option.Option) {
	for _, o := range append(opts, option.Overwrite, option.LatencyFormat) {
		// The options have no way to fail, and the kernel would not tell.
		_ = tr.setOption(o, tr.latency.options.Has(o))
	}
	tr.latency = latency{}
}

// latencyFunctions registers for the functions called while measured says so, or
// stops, as the options want it: with display-graph they are recorded as a call
// graph, but in the top instance only.
//
// Kernel: start_irqsoff_tracer and irqsoff_display_graph,
// kernel/trace/trace_irqsoff.c.
func (tr *Instance) latencyFunctions(on bool, handler string, measured func(*machine.CPU) bool) error {
	tr.ft.users.Unregister(&tr.ops)
	if tr.latency.graph != nil {
		tr.ft.users.UnregisterGraph(tr.latency.graph)
		tr.latency.graph = nil
	}
	if !on || !tr.opts.Has(option.FunctionTrace) {
		return nil
	}
	if !tr.top() || !tr.opts.Has(option.DisplayGraph) {
		tr.ops = functions.Ops{Hash: &tr.functions, Follows: tr.followsTask, Handler: handler, Call: func(c *machine.CPU, f *machine.Frame) {
			if measured(c) && tr.records(c) {
				tr.recordFunction(c, f.IP, f.Parent())
			}
		}}
		tr.ft.users.Register(&tr.ops)
		return nil
	}
	g := new(fgraph.Ops)
	g.Entry = func(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
		return measured(c) && tr.ft.graphFilters.selects(c, s.Var(g), call) && !tr.ft.graphFilters.notrace.Has(call.Func) &&
			tr.records(c) && tr.recordCall(c, call)
	}
	g.Return = func(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
		graphLeaves(s.Var(g), ret)
		if measured(c) && tr.records(c) {
			tr.recordReturn(c, ret)
		}
	}
	if err := tr.ft.users.RegisterGraph(g, &tr.functions); err != nil {
		return err
	}
	tr.latency.graph = g
	return nil
}

// mark records an address, where something was measured, as a function or, with
// display-graph, as a call that took no time.
//
// Kernel: __trace_function, kernel/trace/trace_irqsoff.c, and
// trace_graph_function, kernel/trace/trace_functions_graph.c.
func (tr *Instance) mark(c *machine.CPU, ip, parent uint64) {
	if !tr.opts.Has(option.DisplayGraph) {
		tr.recordFunction(c, ip, parent)
		return
	}
	if !tr.recordEntry(c, common(c), fgraph.Call{Func: ip}) {
		return
	}
	now := tr.now(c.ID)
	tr.recordReturn(c, fgraph.Ret{Func: ip, Calltime: now, Rettime: now})
}

func (tr *Instance) recordFunction(c *machine.CPU, ip, parent uint64) {
	tr.ft.cmdlines.Remember(c.Current)
	// The buffer counts what it refuses.
	_ = record.Write(tr.rec, c.ID, contextOf(c), events.Function, common(c), &events.FunctionRecord{IP: ip, ParentIP: parent})
}

// stackHere records the kernel stack with a probe's own functions on top, or
// with none and some of the innermost functions left out.
func (tr *Instance) stackHere(c *machine.CPU, skip int, probe ...uint64) {
	tr.stack.IPs = c.AppendKernelStack(append(tr.stack.IPs[:0], probe...))
	if skip > 0 {
		tr.stack.IPs = tr.stack.IPs[min(skip, len(tr.stack.IPs)):]
	}
	tr.kernelStack(tr.rec, c, contextOf(c), common(c))
}

// inside is an address in a function of the kernel, by name; 0 if there is none.
func (ft *Ftrace) inside(name string) uint64 {
	s, ok := ft.machine.Kallsyms().ByName(name)
	if !ok {
		return 0
	}
	return s.Addr + s.Size/2
}
