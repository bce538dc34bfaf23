package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracer/option"
	"ftracelab/workload/machine"
)

// Tracer is what current_tracer selects (struct tracer): one row of a table.
//
// Kernel: struct tracer, kernel/trace/trace.h.
type Tracer struct {
	Name string
	// instances says that an instance other than the top one may select it.
	instances bool
	// maxBuffer says that it keeps its longest latency in the snapshot, which
	// trace then shows (use_max_tr and print_max).
	maxBuffer bool
	// call runs at the entry of each function that the filter lets through;
	// nil for a tracer that does not look at functions.
	call func(*Instance, *machine.CPU, *machine.Frame)
	// handler is the name of call in the kernel.
	handler string
	// init and reset run when it is selected and left; nil for nothing to do.
	init  func(*Instance) error
	reset func(*Instance)
	// start runs when tracing_on is switched on again.
	start func(*Instance)
	// stop runs when tracing_on is switched off.
	stop func(*Instance)
	// sampler says that it has threads of its own.
	sampler bool
	// trace runs at the tracepoints named in points, before the events' own records.
	trace  func(*Instance, *machine.CPU, machine.Tracepoint)
	points []string
	// changed runs after an option changed; keepsOverwrite says that overwrite may
	// not be switched off.
	changed        func(*Instance, option.Option)
	keepsOverwrite bool
}

// tracers lists them in the order of available_tracers.
var tracers = []Tracer{
	osnoiseTracer("timerlat"),
	osnoiseTracer("osnoise"),
	hwlatTracer(),
	blkTracer(),
	mmioTracer(),
	{Name: "function_graph", instances: true, init: graphInit, reset: graphReset},
	wakeupTracer("wakeup_dl"),
	wakeupTracer("wakeup_rt"),
	wakeupTracer("wakeup"),
	irqsoffTracer("preemptirqsoff"),
	irqsoffTracer("preemptoff"),
	irqsoffTracer("irqsoff"),
	{Name: "function", instances: true, call: functionCall, handler: "function_trace_call", start: (*Instance).resetBuffer},
	{Name: "nop", instances: true},
}

func tracerByName(name string) *Tracer {
	for n := range tracers {
		if tracers[n].Name == name {
			return &tracers[n]
		}
	}
	return nil
}

// hasTracer reports whether the kernel was built with a tracer.
func (ft *Ftrace) hasTracer(t *Tracer) bool {
	return t != nil && !((t.maxBuffer || t.sampler) && ft.cfg.NoLatencyTracers)
}

// showTracers is the text of available_tracers, in an instance those that it may
// select.
//
// Kernel: show_traces_open and t_show, kernel/trace/trace.c.
func (tr *Instance) showTracers() string {
	var names []string
	for n := range tracers {
		if tr.ft.hasTracer(&tracers[n]) && (tr.top() || tracers[n].instances) {
			names = append(names, tracers[n].Name)
		}
	}
	return strings.Join(names, " ") + "\n"
}

// setTracer selects a tracer. A change empties the buffer, as the kernel does;
// where a design promises that a switch to nop keeps what was traced, it does.
//
// Kernel: tracing_set_tracer, kernel/trace/trace.c.
func (tr *Instance) setTracer(name string) error {
	if err := tr.expand(); err != nil {
		return err
	}
	t := tracerByName(name)
	switch {
	case !tr.ft.hasTracer(t):
		return fmt.Errorf("current_tracer: no tracer %q: %w", name, syscall.EINVAL)
	case t == tr.current:
		return nil
	case t.maxBuffer && tr.hists.TakesSnapshots():
		return fmt.Errorf("current_tracer: a hist trigger takes snapshots: %w", syscall.EBUSY)
	case tr.readers > 0:
		return fmt.Errorf("current_tracer: trace_pipe is open: %w", syscall.EBUSY)
	case !tr.top() && !t.instances:
		return fmt.Errorf("current_tracer: %s is for the top instance: %w", name, syscall.EINVAL)
	}
	old := tr.current
	tr.current = tracerByName("nop")
	tr.ft.unregisterOps(&tr.ops)
	if old.reset != nil {
		old.reset(tr)
	}
	if !tr.keepsBuffer(old, t) {
		tr.resetBuffer()
	}
	switch {
	case old.maxBuffer && !t.maxBuffer:
		if err := tr.freeSnapshot(); err != nil {
			return err
		}
		tr.disarmSnapshot()
	case t.maxBuffer && !old.maxBuffer:
		if err := tr.armSnapshot(); err != nil {
			tr.ft.hooksChanged()
			return err
		}
	}
	if t.init != nil {
		if err := t.init(tr); err != nil {
			if t.maxBuffer {
				tr.disarmSnapshot()
			}
			tr.ft.hooksChanged()
			return err
		}
	}
	tr.current = t
	if t.call != nil {
		tr.ops = functionOps{hash: &tr.functions, pids: tr, handler: t.handler, call: func(c *machine.CPU, f *machine.Frame) { t.call(tr, c, f) }}
		tr.ft.registerOps(&tr.ops)
	}
	tr.ft.hooksChanged()
	return nil
}

// keepsBuffer is the documented preset's promise: with options/stackmap on, a
// switch to nop leaves the buffer as it is.
func (tr *Instance) keepsBuffer(from, to *Tracer) bool {
	return to.Name == "nop" && from.Name != "nop" && tr.opts.Has(option.Stackmap) &&
		tr.ft.cfg.Stackmap.KeepBufferOnNop
}
