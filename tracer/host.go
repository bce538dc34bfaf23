package tracer

import (
	"io/fs"
	"path"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/clock"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/output"
	"ftracelab/tracer/plugin"
	"ftracelab/tracer/record"
)

// This file holds what a tracer with a package of its own sees of ftrace
// (plugin.Ftrace) and of an instance (plugin.Trace).

type (
	host  Ftrace
	trace Instance
)

// trace returns the instance as a tracer sees it, and instanceOf converts it back.
func (tr *Instance) trace() plugin.Trace         { return (*trace)(tr) }
func instanceOf(t plugin.Trace) *Instance        { return (*Instance)(t.(*trace)) }
func (h *host) ftrace() *Ftrace                  { return (*Ftrace)(h) }
func (t *trace) instance() *Instance             { return (*Instance)(t) }
func (h *host) Machine() *machine.Machine        { return h.machine }
func (h *host) Run(d machine.Time)               { h.ftrace().Run(d) }
func (h *host) Advance(d machine.Time)           { h.ftrace().run(d) }
func (h *host) Recording() bool                  { return h.top.buf.Recording() }
func (h *host) Threshold() *uint64               { return &h.thresh }
func (*host) WallClock(at machine.Time) uint64   { return clock.RealTime(at) }
func (*host) Common(c *machine.CPU) event.Common { return common(c) }
func (h *host) Listens(t *event.Type) bool       { return h.listening[t.ID] }
func (h *host) Remember(t *machine.Task)         { h.cmdlines.Remember(t) }
func (h *host) Rehook()                          { h.ftrace().changed() }

func (h *host) Inside(function string) uint64 {
	s, ok := h.machine.Kallsyms().ByName(function)
	if !ok {
		return 0
	}
	return s.Addr + s.Size/2
}

func (h *host) Do(do func(*machine.Machine) error) error { return h.ftrace().Do(do) }

func (h *host) Emit(c *machine.CPU, t *event.Type, hdr event.Common, rec []byte) {
	h.ftrace().emit(&happening{cpu: c, t: t, h: hdr, data: rec})
}

func (h *host) Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node {
	return h.top.value(name, mode, show, store)
}

func (h *host) Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File {
	return h.top.seq(name, mode, show)
}

func (h *host) Locked(do func() error) error { return h.top.locked(do) }

func (t *trace) Name() string             { return t.name }
func (t *trace) Recording() bool          { return t.buf.Recording() }
func (t *trace) SetRecording(on bool)     { t.buf.SetRecording(on) }
func (t *trace) Follows(cpu int) bool     { return t.cpumask[cpu] }
func (t *trace) Has(o option.Option) bool { return t.opts.Has(o) }
func (t *trace) MaxLatency() *uint64      { return &t.maxLatency }
func (t *trace) ResetBuffer()             { t.instance().resetBuffer() }

func (t *trace) NewMaxLatency(ns uint64) {
	t.maxLatency = ns
	if changed := t.instance().ft.cfg.Changed; changed != nil {
		file := "tracing_max_latency"
		if t.name != "" {
			file = path.Join("instances", t.name, file)
		}
		changed(file)
	}
}

func (t *trace) Overrun() (n uint64) {
	for cpu := range t.buf.CPUs() {
		n += t.buf.Stats(cpu).Overrun
	}
	return n
}

func (t *trace) Write(c *machine.CPU, rec []byte) error {
	return t.rec.Event(c.ID, contextOf(c), rec)
}

func (t *trace) Record(c *machine.CPU, et *event.Type, h event.Common, rec []byte) error {
	err := t.Write(c, rec)
	if err == nil {
		t.instance().afterRecord(t.rec, &happening{cpu: c, ctx: contextOf(c), t: et, h: h})
	}
	return err
}

func (t *trace) Stacks(c *machine.CPU, et *event.Type, h event.Common) {
	t.instance().stacks(t.rec, &happening{cpu: c, ctx: contextOf(c), t: et, h: h})
}

// Kernel: trace_array_printk_buf, kernel/trace/trace.c.
func (t *trace) Print(c *machine.CPU, from, text string) {
	rec := events.PrintRecord{IP: (*host)(t.ft).Inside(from), Buf: text}
	_ = record.Write(t.rec, c.ID, contextOf(c), events.Print, common(c), &rec) // the buffer counts what it refuses
	t.ft.cmdlines.Remember(c.Current)
}

func (t *trace) RecordStack(c *machine.CPU, ips []uint64) {
	tr := t.instance()
	tr.stack.IPs = append(tr.stack.IPs[:0], ips...)
	tr.kernelStack(tr.rec, c, contextOf(c), common(c))
}

// The methods from here on are those of latency.Trace.

func (t *trace) Now(cpu int) uint64 { return t.instance().now(cpu) }

func (t *trace) SetOption(o option.Option, on bool) error { return t.instance().setOption(o, on) }

func (t *trace) TraceFunctions(handler string, graph bool, measured func(*machine.CPU) bool) error {
	return t.instance().traceFunctions(handler, graph, measured)
}

func (t *trace) Function(c *machine.CPU, ip, parent uint64) {
	t.instance().recordFunction(c, ip, parent)
}

func (t *trace) Call(c *machine.CPU, h event.Common, call fgraph.Call) bool {
	return t.instance().recordEntry(c, h, call)
}

func (t *trace) Return(c *machine.CPU, ret fgraph.Ret) { t.instance().recordReturn(c, ret) }

func (t *trace) KeepLongest(cpu int, began uint64, l output.Latency) error {
	if err := t.instance().takeSnapshot(cpu); err != nil {
		return err
	}
	t.longest = longest{began: began, header: l}
	return nil
}

// The methods from here on are those of profiler.Host.

func (h *host) RegisterGraph(ops *fgraph.Ops) error {
	return h.users.RegisterGraph(ops, &h.top.functions)
}

func (h *host) UnregisterGraph(ops *fgraph.Ops)         { h.users.UnregisterGraph(ops) }
func (h *host) Subtime(s *fgraph.Stack, up int) *uint64 { return h.graph.Subtime(s, up) }
func (h *host) GraphTime() bool                         { return h.top.opts.Has(option.GraphTime) }
