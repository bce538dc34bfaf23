// Package latency has the tracers that look for the longest latency: irqsoff,
// preemptoff and preemptirqsoff (for how long are interrupts or preemption switched
// off?), and wakeup, wakeup_rt and wakeup_dl (for how long does a task that was woken
// wait for its CPU?).
//
// They record into the buffer all the time. When a section of code, or a wait, is
// longer than any before it, the buffer becomes the snapshot, and trace shows that.
//
// Kernel: kernel/trace/trace_irqsoff.c and trace_sched_wakeup.c.
package latency

import (
	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/option"
	"ftracelab/tracer/output"
	"ftracelab/tracer/plugin"
)

// Trace is the instance that measures.
type Trace interface {
	plugin.Trace
	// Now is the trace clock of a CPU.
	Now(cpu int) uint64
	SetOption(o option.Option, on bool) error
	// TraceFunctions records each function that is called where measured says so: as
	// events of the function tracer or, if graph is set, as calls and returns. A nil
	// measured ends that. handler is the function of the kernel that does it, for
	// enabled_functions. The error says that there is no room for another graph.
	TraceFunctions(handler string, graph bool, measured func(*machine.CPU) bool) error
	// Function, Call and Return record one event of the function tracer and of the
	// graph tracer. Call reports whether there was room.
	Function(c *machine.CPU, ip, parent uint64)
	Call(c *machine.CPU, h event.Common, call fgraph.Call) bool
	Return(c *machine.CPU, ret fgraph.Ret)
	// KeepLongest makes the buffer the snapshot, of one CPU or with cpu < 0 of all. l
	// is what trace tells above it; entries from before began do not belong to it.
	KeepLongest(cpu int, began uint64, l output.Latency) error
}

// measurement is what the tracers of this package share: an instance that measures,
// and what it needs for that.
//
// Kernel: struct trace_array_cpu, kernel/trace/trace.h.
type measurement struct {
	ft       plugin.Ftrace
	of       Trace      // nil: nobody measures
	options  option.Set // which of the changed options were on before
	sections []section  // by CPU: what is being measured there
	ips      []uint64   // scratch for stacks
	scratch  []byte     // … and for records
}

// section is a piece of code whose length is measured on a CPU.
type section struct {
	began      uint64 // time; of a wake-up, when it happened
	start, end uint64 // addresses
	sequence   uint64 // how many maxima there were when it began
}

// begin sets the options without which a latency tracer would show nothing sensible,
// those named and two more; end gives them back.
//
// Kernel: __irqsoff_tracer_init, kernel/trace/trace_irqsoff.c, and
// __wakeup_tracer_init, kernel/trace/trace_sched_wakeup.c.
func (m *measurement) begin(t Trace, opts ...option.Option) error {
	sections := make([]section, len(m.ft.Machine().CPUs()))
	*m = measurement{ft: m.ft, of: t, sections: sections, ips: m.ips, scratch: m.scratch}
	*t.MaxLatency() = 0
	opts = append(opts, option.Overwrite, option.LatencyFormat)
	for _, o := range opts {
		m.options.Set(o, t.Has(o))
	}
	for _, o := range opts {
		if err := t.SetOption(o, true); err != nil {
			m.of = nil
			return err
		}
	}
	return nil
}

func (m *measurement) end(opts ...option.Option) {
	t := m.of
	for _, o := range append(opts, option.Overwrite, option.LatencyFormat) {
		// The options have no way to fail, and the kernel would not tell.
		_ = t.SetOption(o, m.options.Has(o))
	}
	*t.MaxLatency() = 0
	m.of = nil
}

// traceFunctions records the functions called while measured says so, as the options
// want it: with display-graph as a call graph, but in the top instance only. Without
// room for the graph there is none, as in the kernel.
//
// Kernel: start_irqsoff_tracer and irqsoff_display_graph,
// kernel/trace/trace_irqsoff.c.
func (m *measurement) traceFunctions(handler string, measured func(*machine.CPU) bool) error {
	if !m.of.Has(option.FunctionTrace) {
		return m.of.TraceFunctions("", false, nil)
	}
	return m.of.TraceFunctions(handler, m.of.Name() == "" && m.of.Has(option.DisplayGraph), measured)
}

// reports says whether a latency is to be kept: the longest so far, or with
// tracing_thresh each that is not shorter.
//
// Kernel: report_latency, kernel/trace/trace_irqsoff.c.
func (m *measurement) reports(delta uint64) bool {
	if thresh := *m.ft.Threshold(); thresh != 0 {
		return delta >= thresh
	}
	return delta > *m.of.MaxLatency()
}

// keepLongest makes the buffer the snapshot, of one CPU or with cpu < 0 of all:
// it holds the longest latency, delta, of a task on the CPU named in at.
//
// Kernel: update_max_tr, update_max_tr_single and __update_max_tr,
// kernel/trace/trace.c.
func (m *measurement) keepLongest(cpu int, delta uint64, t *machine.Task, at int) {
	m.of.NewMaxLatency(delta)
	s := &m.sections[at]
	err := m.of.KeepLongest(cpu, s.began, output.Latency{
		Microseconds: Microseconds(delta), CPU: at, Comm: t.Comm, PID: int32(t.PID), UID: uint32(t.UID),
		Nice: int64(t.Nice()), Policy: int64(t.Policy), RTPriority: int64(t.RTPriority()),
		Start: s.start, End: s.end,
	})
	if err != nil {
		return // somebody reads it just now; the next maximum will do
	}
	m.ft.Remember(t)
}

// Microseconds rounds ns.
//
// Kernel: nsecs_to_usecs, kernel/trace/trace.c.
func Microseconds(ns uint64) uint64 { return (ns + 500) / 1000 }

// mark records an address, where something was measured, as a function or, with
// display-graph, as a call that took no time.
//
// Kernel: __trace_function, kernel/trace/trace_irqsoff.c, and
// trace_graph_function, kernel/trace/trace_functions_graph.c.
func (m *measurement) mark(c *machine.CPU, ip, parent uint64) {
	if !m.of.Has(option.DisplayGraph) {
		m.of.Function(c, ip, parent)
		return
	}
	if !m.of.Call(c, m.ft.Common(c), fgraph.Call{Func: ip}) {
		return
	}
	now := m.of.Now(c.ID)
	m.of.Return(c, fgraph.Ret{Func: ip, Calltime: now, Rettime: now})
}

// stackHere records the kernel stack with a probe's own functions on top, or
// with none and some of the innermost functions left out.
func (m *measurement) stackHere(c *machine.CPU, skip int, probe ...uint64) {
	m.ips = c.AppendKernelStack(append(m.ips[:0], probe...))
	m.of.RecordStack(c, m.ips[min(skip, len(m.ips)):])
}
