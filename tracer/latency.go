package tracer

import (
	"fmt"
	"strconv"

	"ftracelab/fgraph"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
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
	options  Options     // before the tracer set its own
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
func (i *Instance) reports(delta uint64) bool {
	if i.ft.thresh != 0 {
		return delta >= i.ft.thresh
	}
	return delta > i.latency.max
}

// keepLongest makes the buffer the snapshot, of one CPU or with cpu < 0 of all:
// it holds the longest latency, delta, of a task on the CPU named in at.
//
// Kernel: update_max_tr, update_max_tr_single and __update_max_tr,
// kernel/trace/trace.c.
func (i *Instance) keepLongest(cpu int, delta uint64, t *machine.Task, at int) {
	i.latency.max = delta
	if err := i.takeSnapshot(cpu); err != nil {
		return // somebody reads it just now; the next maximum will do
	}
	s := &i.latency.sections[at]
	i.latency.of = longest{began: s.began, header: output.Latency{
		Microseconds: microseconds(delta), CPU: at, Comm: t.Comm, PID: int32(t.PID), UID: uint32(t.UID),
		Nice: int64(t.Nice()), Policy: int64(t.Policy), RTPriority: int64(t.RTPriority()),
		Start: s.start, End: s.end,
	}}
	i.ft.remember(t)
}

// microseconds rounds ns.
//
// Kernel: nsecs_to_usecs, kernel/trace/trace.c.
func microseconds(ns uint64) uint64 { return (ns + 500) / 1000 }

// microseconds is a file with a time in ns that reads and writes microseconds.
//
// Kernel: tracing_nsecs_read and tracing_nsecs_write, kernel/trace/trace.c.
func (i *Instance) microseconds(name string, ns *uint64) tracefile.Node {
	return i.value(name, 0o640,
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
func (i *Instance) latencyInit(opts ...Option) error {
	i.latency = latency{options: i.opts, sections: make([]section, i.buf.CPUs())}
	for _, o := range append(opts, OptOverwrite, OptLatencyFormat) {
		if err := i.setOption(o, true); err != nil {
			return err
		}
	}
	return nil
}

func (i *Instance) latencyReset(opts ...Option) {
	for _, o := range append(opts, OptOverwrite, OptLatencyFormat) {
		// The options have no way to fail, and the kernel would not tell.
		_ = i.setOption(o, i.latency.options.Has(o))
	}
	i.latency = latency{}
}

// latencyFunctions registers for the functions called while measured says so, or
// stops, as the options want it: with display-graph they are recorded as a call
// graph, but in the top instance only.
//
// Kernel: start_irqsoff_tracer and irqsoff_display_graph,
// kernel/trace/trace_irqsoff.c.
func (i *Instance) latencyFunctions(on bool, handler string, measured func(*machine.CPU) bool) error {
	i.ft.unregisterOps(&i.ops)
	if i.latency.graph != nil {
		i.ft.unregisterGraph(i.latency.graph)
		i.latency.graph = nil
	}
	if !on || !i.opts.Has(OptFunctionTrace) {
		return nil
	}
	if !i.top() || !i.opts.Has(OptDisplayGraph) {
		i.ops = functionOps{hash: &i.functions, pids: i, handler: handler, call: func(c *machine.CPU, f *machine.Frame) {
			if measured(c) && i.records(c) {
				i.recordFunction(c, f.IP, f.Parent())
			}
		}}
		i.ft.registerOps(&i.ops)
		return nil
	}
	g := new(fgraph.Ops)
	g.Entry = func(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
		return measured(c) && i.ft.graphSelects(c, s.Var(g), call) && !i.ft.graphNotrace.has(call.Func) &&
			i.records(c) && i.recordCall(c, call)
	}
	g.Return = func(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
		graphLeaves(s.Var(g), ret)
		if measured(c) && i.records(c) {
			i.recordReturn(c, ret)
		}
	}
	if err := i.ft.registerGraph(g, &i.functions); err != nil {
		return err
	}
	i.latency.graph = g
	return nil
}

// mark records an address, where something was measured, as a function or, with
// display-graph, as a call that took no time.
//
// Kernel: __trace_function, kernel/trace/trace_irqsoff.c, and
// trace_graph_function, kernel/trace/trace_functions_graph.c.
func (i *Instance) mark(c *machine.CPU, ip, parent uint64) {
	if !i.opts.Has(OptDisplayGraph) {
		i.recordFunction(c, ip, parent)
		return
	}
	if !i.recordEntry(c, common(c), fgraph.Call{Func: ip}) {
		return
	}
	now := i.now(c.ID)
	i.recordReturn(c, fgraph.Ret{Func: ip, Calltime: now, Rettime: now})
}

func (i *Instance) recordFunction(c *machine.CPU, ip, parent uint64) {
	i.ft.remember(c.Current)
	i.scratch = events.Function.Append(i.scratch[:0], common(c), &events.FunctionRecord{IP: ip, ParentIP: parent})
	_ = i.rec.Event(c.ID, contextOf(c), i.scratch) // the buffer counts what it refuses
}

// stackHere records the kernel stack with a probe's own functions on top, or
// with none and some of the innermost functions left out.
func (i *Instance) stackHere(c *machine.CPU, skip int, probe ...uint64) {
	i.stack.IPs = c.KernelStack(append(i.stack.IPs[:0], probe...))
	if skip > 0 {
		i.stack.IPs = i.stack.IPs[min(skip, len(i.stack.IPs)):]
	}
	i.kernelStack(i.rec, c, contextOf(c), common(c))
}

// inside is an address in a function of the kernel, by name; 0 if there is none.
func (ft *Ftrace) inside(name string) uint64 {
	s, ok := ft.machine.Kallsyms().ByName(name)
	if !ok {
		return 0
	}
	return s.Addr + s.Size/2
}
