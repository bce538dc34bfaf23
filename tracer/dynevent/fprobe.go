package dynevent

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/fgraph/fprobe"
	"ftracelab/fgraph/rethook"
	"ftracelab/machine"
	"ftracelab/tracer/event/probe"
	"ftracelab/tracer/functions"
)

// callSize is how long the patched call at a function's entry is.
const callSize = 5

// fprobeEvents is the kind of probes on the entries and exits of functions, and on
// tracepoints.
//
// Kernel: trace_fprobe_ops, kernel/trace/trace_fprobe.c.
var fprobeEvents = &Kind{Name: "fprobe", Create: (*Events).createFprobe}

// traceFprobe is a probe of an fprobe event. For the kernel, a probe on a tracepoint is
// a probe on the function that the tracepoint calls.
//
// Kernel: struct trace_fprobe, kernel/trace/trace_fprobe.c.
type traceFprobe struct {
	*traceProbe
	fp         rethook.Fprobe // in 6.12
	stacked    fprobe.Probe   // in the kernels after it
	registered bool           // stacked is
	hash       functions.OpsHash
	ops        functions.Ops
	source     kernelSource
	// These three are for a probe on a tracepoint: the machine's name for the
	// tracepoint, empty if nothing fires it; the function that it calls; and whether
	// the probe waits for a module that brings the tracepoint.
	point   string
	stub    machine.Symbol
	waiting bool
	words   []uint64
}

// createFprobe makes an fprobe event, or adds a probe to one. Errors are those of
// registerProbe.
//
// Kernel: __trace_fprobe_create, kernel/trace/trace_fprobe.c.
func (d *Events) createFprobe(command string) error {
	def, err := probe.ParseFprobe(command, probeEnv{d})
	if err != nil {
		return d.probeFault(err)
	}
	p := &traceProbe{d: d, def: def}
	p.on = newTraceFprobe(p)
	return d.registerProbe(p)
}

func newTraceFprobe(p *traceProbe) *traceFprobe {
	f := &traceFprobe{traceProbe: p}
	f.fp.MaxActive = p.def.MaxActive
	switch {
	case !p.def.Return:
		f.fp.Entry = f.enter
	case p.def.EntryArgs() > 0:
		f.fp.Entry, f.fp.DataWords = f.keep, p.def.EntryArgs()
		fallthrough
	default:
		f.fp.Exit = f.leave
	}
	f.newStacked()
	f.ops = functions.Ops{Hash: &f.hash, Handler: "fprobe_handler", Regs: true, Call: func(c *machine.CPU, frame *machine.Frame) {
		f.fp.Enter(c, f.d.host.Rethooks(c.Current), frame)
	}}
	return f
}

// register puts the probe on its functions, or on its tracepoint. If there is no such
// tracepoint, the probe waits for a module that brings it. Errors: EINVAL if no function
// has the name.
//
// Kernel: __register_trace_fprobe, kernel/trace/trace_fprobe.c; register_fprobe,
// kernel/trace/fprobe.c.
func (f *traceFprobe) register() error {
	d, def := f.d, f.def
	if err := def.Resolve(probeEnv{d}); err != nil {
		return err
	}
	f.fp.Disabled = !f.event.enabled()
	if def.Kind == probe.Tracepoint {
		f.onTracepoint()
		return nil
	}
	f.hash = functions.OpsHash{}
	if d.host.Match(&f.hash.Filter, def.Symbol) == 0 || f.hash.Filter.Empty() {
		return fmt.Errorf("fprobe: no function is called %q: %w", def.Symbol, syscall.EINVAL)
	}
	f.hash.Filter = f.hash.Filter.Settled()
	return f.attach()
}

// stubOf returns the name of the function that a tracepoint calls for a probe on it.
func stubOf(tracepoint string) string { return "__probestub_" + tracepoint }

// onTracepoint puts the probe on its tracepoint, if that exists.
//
// Kernel: __regsiter_tracepoint_fprobe, kernel/trace/trace_fprobe.c.
//
// Departure: the function that a tracepoint calls for such a probe, __probestub_NAME,
// is seen only by the probe. A probe fires before the tracepoint's event, whichever of
// the two was enabled first. A probe that is deleted does not silence the others on its
// tracepoint. Only the tracepoints that the machine has fire.
func (f *traceFprobe) onTracepoint() {
	stub, ok := f.d.symbol(stubOf(f.def.Symbol))
	if f.waiting = !ok; !ok {
		return
	}
	f.stub, f.point = stub, ""
	for _, name := range machine.Tracepoints() {
		if _, event, _ := strings.Cut(name, ":"); event == f.def.Symbol {
			f.point = name
		}
	}
	f.hash = functions.OpsHash{}
	f.hash.Filter.Add(stub.IP())
	f.hash.Filter = f.hash.Filter.Settled()
	_ = f.attach() // the kernel says in its log what failed
	f.d.host.SetInnermost(f.event.typ, stub.IP()+callSize)
}

// unregister takes the probe away.
//
// Kernel: __unregister_trace_fprobe, kernel/trace/trace_fprobe.c.
func (f *traceFprobe) unregister() {
	f.detach()
}

// enable lets the probe record. In the kernels after 6.12 it registers the probe, which
// fails with ENOSPC if the shadow stacks have no room for another user.
//
// Kernel: enable_fprobe and disable_fprobe, include/linux/fprobe.h.
func (f *traceFprobe) enable(on bool) error {
	f.fp.Disabled = !on
	return f.enableStacked(on)
}

// enter runs at the entry of a function.
//
// Kernel: fentry_dispatcher, kernel/trace/trace_fprobe.c.
func (f *traceFprobe) enter(c *machine.CPU, frame *machine.Frame, _ []uint64) bool {
	f.source.enter(f.d, c, frame, frame.IP+callSize, f.allRegs())
	h := f.d.host.Common(c)
	if f.shared(frame.IP) {
		h = h.Unpreemptible() // by arch_ftrace_ops_list_func
	}
	f.record(c, h, probe.Hit{IP: frame.IP}, &f.source, frame.IP+callSize)
	return true
}

// allRegs reports whether the trampoline saves all registers for the probe: that of 6.12 asks
// for them, and those after it take struct ftrace_regs.
func (f *traceFprobe) allRegs() bool { return f.d.fprobeSet.set == nil }

// shared reports whether the function has other users besides this probe.
func (f *traceFprobe) shared(ip uint64) bool {
	return f.d.host.Users(ip) > 1
}

// keep runs at the entry of a function and saves the arguments that the exit needs.
//
// Kernel: trace_fprobe_entry_handler, kernel/trace/trace_fprobe.c.
func (f *traceFprobe) keep(c *machine.CPU, frame *machine.Frame, data []uint64) bool {
	f.source.enter(f.d, c, frame, frame.IP+callSize, f.allRegs())
	f.words = f.def.AppendEntry(f.words[:0], &f.source)
	copy(data, f.words)
	return true
}

// leave runs when a function returns, with preemption off.
//
// Kernel: fexit_dispatcher, kernel/trace/trace_fprobe.c.
func (f *traceFprobe) leave(c *machine.CPU, fn, ret uint64, frame *machine.Frame, data []uint64) {
	f.source.leave(f.d, c, frame, ret, f.allRegs())
	f.record(c, f.d.host.Common(c).Unpreemptible(), probe.Hit{IP: fn, RetIP: ret, Entry: data}, &f.source, 0)
}

// fprobes yields the fprobes.
func (d *Events) fprobes(yield func(*traceFprobe) bool) {
	for _, e := range d.list {
		if p, ok := e.(*traceProbe); ok {
			if f, ok := p.on.(*traceFprobe); ok && !yield(f) {
				return
			}
		}
	}
}

// Points adds the tracepoints of the enabled probes to names.
func (d *Events) Points(names map[string]bool) {
	d.tprobes = d.tprobes[:0]
	for f := range d.fprobes {
		if f.point != "" && !f.waiting && !f.fp.Disabled {
			names[f.point] = true
			d.tprobes = append(d.tprobes, f)
		}
	}
}

// Tracepoint runs at a tracepoint and hits the probes on it. about is the task that the
// tracepoint is about, if that is not the current one. Preemption is off there.
func (d *Events) Tracepoint(c *machine.CPU, tp machine.Tracepoint, about *machine.Task) {
	if len(d.tprobes) == 0 {
		return
	}
	name := tp.Event().TracepointName()
	for _, f := range d.tprobes {
		if f.point != name {
			continue
		}
		h := d.host.Common(c).Unpreemptible()
		if f.shared(f.stub.IP()) {
			h = h.Unpreemptible()
		}
		f.source.pass(f.d, c, tp)
		f.write(c, h, probe.Hit{IP: f.stub.IP()}, &f.source, Around{Task: about})
	}
}

// fprobeModule runs when a module was loaded or is about to be unloaded. Probes on its
// tracepoints begin when it comes, and wait again when it goes. When it goes, probes on
// its functions match nothing any more.
//
// Kernel: __tracepoint_probe_module_cb, kernel/trace/trace_fprobe.c.
func (d *Events) fprobeModule(name string, loaded bool) {
	if !loaded {
		d.fprobeSet.forgetModule(d.machine, name)
	}
	for f := range d.fprobes {
		switch {
		case loaded && f.waiting:
			f.onTracepoint()
		case !loaded && f.def.Kind == probe.Tracepoint && f.stub.Module == name && !f.waiting:
			f.unregister()
			f.waiting, f.point = true, ""
		case !loaded:
			d.host.ForgetModule(name, &f.hash.Filter)
		}
	}
	d.host.Rehook()
}
