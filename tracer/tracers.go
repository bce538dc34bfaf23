package tracer

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ftracelab/tracer/blk"
	"ftracelab/tracer/latency"
	"ftracelab/tracer/mmiotrace"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
	"ftracelab/tracer/sampler"
)

// newTracers returns the tracers in the order of available_tracers.
func (ft *Ftrace) newTracers() []plugin.Tracer {
	host := (*host)(ft)
	timerlat, osnoise := sampler.Osnoise(host)
	wakeup, wakeupRT, wakeupDL := latency.Wakeup(host)
	irqsoff, preemptoff, preemptirqsoff := latency.IRQsOff(host)
	tracers := []plugin.Tracer{
		timerlat,
		osnoise,
		sampler.Hwlat(host),
		blk.New(host).Tracer(),
		mmiotrace.Tracer(host),
		{Name: "function_graph", Instances: true, Init: initWith(graphInit), Reset: with(graphReset)},
		wakeupDL,
		wakeupRT,
		wakeup,
		preemptirqsoff,
		preemptoff,
		irqsoff,
		{Name: "function", Instances: true, Init: initWith((*Instance).functionInit), Start: with((*Instance).resetBuffer)},
		{Name: nopTracer, Instances: true, KeepsBuffer: true},
	}
	if ft.slots == nil {
		return tracers
	}
	return append([]plugin.Tracer{ft.returnTracer()}, tracers...)
}

// nopTracer is the tracer with which an instance begins, and which it has while it
// changes to another one.
const nopTracer = "nop"

func (ft *Ftrace) tracerByName(name string) *plugin.Tracer {
	for n := range ft.tracers {
		if ft.tracers[n].Name == name {
			return &ft.tracers[n]
		}
	}
	return nil
}

// with and initWith make functions for a row of the table from methods of the
// instance.
func with(do func(*Instance)) func(plugin.Trace) {
	return func(t plugin.Trace) { do(instanceOf(t)) }
}

func initWith(do func(*Instance) error) func(plugin.Trace) error {
	return func(t plugin.Trace) error { return do(instanceOf(t)) }
}

// hasTracer reports whether the kernel was built with a tracer.
func (ft *Ftrace) hasTracer(t *plugin.Tracer) bool {
	return t != nil && !(t.Latency && ft.cfg.NoLatencyTracers)
}

// showTracers returns the text of available_tracers. An instance shows only those
// that it may select.
//
// Kernel: show_traces_open and t_show, kernel/trace/trace.c.
func (tr *Instance) showTracers() string {
	var names []string
	for n := range tr.ft.tracers {
		if tr.ft.hasTracer(&tr.ft.tracers[n]) && (tr.top() || tr.ft.tracers[n].Instances) {
			names = append(names, tr.ft.tracers[n].Name)
		}
	}
	return strings.Join(names, " ") + "\n"
}

// setTracer selects a tracer. A change empties the buffer, as in the kernel. If a
// design promises that a switch to nop keeps what was traced, it does; see
// keepsBuffer.
//
// Kernel: tracing_set_tracer, kernel/trace/trace.c.
func (tr *Instance) setTracer(name string) error {
	if err := tr.expand(); err != nil {
		return err
	}
	t := tr.ft.tracerByName(name)
	switch {
	case !tr.ft.hasTracer(t):
		return fmt.Errorf("current_tracer: no tracer %q: %w", name, syscall.EINVAL)
	case t == tr.current:
		return nil
	case t.MaxBuffer && tr.hists.TakesSnapshots():
		return fmt.Errorf("current_tracer: a hist trigger takes snapshots: %w", syscall.EBUSY)
	case tr.readers > 0:
		return fmt.Errorf("current_tracer: trace_pipe is open: %w", syscall.EBUSY)
	case !tr.top() && !t.Instances:
		return fmt.Errorf("current_tracer: %s is for the top instance: %w", name, syscall.EINVAL)
	}
	old := tr.current
	tr.current = tr.ft.tracerByName(nopTracer)
	tr.ft.users.Unregister(&tr.ops)
	if old.Reset != nil {
		old.Reset(tr.trace())
	}
	tr.ft.inodes.reset()
	if !tr.keepsBuffer(old, t) {
		emptied := slices.Clone(tr.emptied)
		tr.resetBuffer()
		if t.Name == nopTracer {
			tr.emptied = emptied // a reader still gets what was taken for it before
		}
	}
	switch {
	case old.MaxBuffer && !t.MaxBuffer:
		if err := tr.freeSnapshot(); err != nil {
			return err
		}
		tr.disarmSnapshot()
	case t.MaxBuffer && !old.MaxBuffer:
		if err := tr.armSnapshot(); err != nil {
			tr.ft.changed()
			return err
		}
	}
	tr.longest = longest{}
	if t.Init != nil {
		if err := t.Init(tr.trace()); err != nil {
			if t.MaxBuffer {
				tr.disarmSnapshot()
			}
			tr.ft.changed()
			return err
		}
	}
	tr.current = t
	tr.ft.changed()
	return nil
}

// keepsBuffer reports whether a change of tracer leaves the buffer as it is. The
// documented preset promises that for a switch to nop with options/stackmap on.
func (tr *Instance) keepsBuffer(from, to *plugin.Tracer) bool {
	return to.KeepsBuffer && !from.KeepsBuffer && tr.opts.Has(option.Stackmap) &&
		tr.ft.cfg.Stackmap.KeepBufferOnNop
}
