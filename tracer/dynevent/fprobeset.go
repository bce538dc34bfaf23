package dynevent

import (
	"fmt"

	"ftracelab/fgraph"
	"ftracelab/fgraph/fprobe"
	"ftracelab/machine"
	"ftracelab/tracer/event/probe"
	"ftracelab/tracer/functions"
)

// FprobeDesign is how the kernel's fprobes see functions.
type FprobeDesign string

// The designs. With the two that use the shadow stack, a definition must not say how many
// calls can be followed at a time, and a probe is on its functions only while its event
// is enabled. With 6.12's it is there from its definition on.
const (
	FprobeRethook FprobeDesign = ""      // 6.12: a probe has an ftrace_ops and a pool of nodes
	FprobeGraph   FprobeDesign = "6.14"  // all probes share one user of the shadow stack
	FprobeSplit   FprobeDesign = "entry" // as 6.14, but a probe that sees no return bypasses the shadow stack
)

// ParseFprobeDesign reads the name of a design: 6.12, 6.14 or entry-only.
func ParseFprobeDesign(name string) (FprobeDesign, error) {
	switch name {
	case "6.12":
		return FprobeRethook, nil
	case "6.14":
		return FprobeGraph, nil
	case "entry-only":
		return FprobeSplit, nil
	}
	return "", fmt.Errorf("fprobe design %q: want 6.12, 6.14 or entry-only", name)
}

// fprobeSet is what all fprobes share in the kernels after 6.12.
type fprobeSet struct {
	design  FprobeDesign
	set     *fprobe.Set
	graph   *fgraph.Ops // while it is registered
	onGraph functions.OpsHash
	ops     functions.Ops // of the probes that bypass the shadow stack
	onEntry functions.OpsHash
}

func (d *Events) newFprobeSet(design FprobeDesign) {
	s := &d.fprobeSet
	s.design = design
	if design == FprobeRethook {
		return
	}
	s.set = fprobe.New(fprobe.Config{Attach: d.attachGraph, EntryOnly: design == FprobeSplit, AttachEntry: d.attachEntry})
	s.ops = functions.Ops{Hash: &s.onEntry, Handler: "fprobe_ftrace_entry", Call: s.set.Call}
}

func hashOf(fns []uint64) (h functions.Hash) {
	for _, fn := range fns {
		h.Add(fn)
	}
	return h.Settled()
}

// attachGraph registers the shared user of the shadow stack, or updates the functions it
// is on.
//
// Kernel: fprobe_graph_add_ips and fprobe_graph_remove_ips, kernel/trace/fprobe.c.
func (d *Events) attachGraph(ops *fgraph.Ops, fns []uint64) error {
	s := &d.fprobeSet
	if len(fns) == 0 {
		if s.graph != nil {
			d.host.UnregisterGraph(s.graph)
			s.graph = nil
		}
		return nil
	}
	s.onGraph.Filter = hashOf(fns)
	if s.graph != nil {
		d.host.Rehook()
		return nil
	}
	if err := d.host.RegisterGraph(ops, &s.onGraph); err != nil {
		return err
	}
	s.graph = ops
	return nil
}

// Kernel: fprobe_ftrace_add_ips and fprobe_ftrace_remove_ips.
func (d *Events) attachEntry(fns []uint64) {
	s := &d.fprobeSet
	if len(fns) == 0 {
		d.host.UnregisterOps(&s.ops)
		return
	}
	s.onEntry.Filter = hashOf(fns)
	d.host.RegisterOps(&s.ops)
}

// newStacked makes the probe of the kernels after 6.12.
//
// Departure: the kernel's flags of the record of a return are not known from a capture.
// fprobe_return disables preemption once, and the record takes that off again.
func (f *traceFprobe) newStacked() {
	p := &f.stacked
	if !f.def.Return {
		p.Entry = func(c *machine.CPU, hit fprobe.Hit, _ []uint64) bool { return f.enter(c, hit.Frame, nil) }
		return
	}
	if p.DataWords = f.def.EntryArgs(); p.DataWords > 0 {
		p.Entry = func(c *machine.CPU, hit fprobe.Hit, data []uint64) bool { return f.keep(c, hit.Frame, data) }
	}
	p.Exit = func(c *machine.CPU, hit fprobe.Hit, data []uint64) {
		f.source.leave(f.d, c, hit.Frame, hit.To, f.allRegs())
		f.record(c, f.d.host.Common(c), probe.Hit{IP: hit.Func, RetIP: hit.To, Entry: data}, &f.source, 0)
	}
}

// attach puts the probe on the functions of its hash: in 6.12 with an ftrace_ops of its
// own, in the kernels after it if its event is enabled.
func (f *traceFprobe) attach() error {
	if f.d.fprobeSet.set == nil {
		f.fp.Register(f.hash.Filter.Count, len(f.d.machine.CPUs()))
		f.d.host.RegisterOps(&f.ops)
		return nil
	}
	return f.enableStacked(!f.fp.Disabled)
}

// detach takes it away again; it does no harm if it is not there.
func (f *traceFprobe) detach() {
	if f.d.fprobeSet.set == nil {
		f.fp.Unregister()
		f.d.host.UnregisterOps(&f.ops)
		return
	}
	_ = f.enableStacked(false) // only registering can fail
}

// enableStacked registers or unregisters the probe of a kernel after 6.12.
func (f *traceFprobe) enableStacked(on bool) error {
	set := f.d.fprobeSet.set
	if set == nil || f.registered == on {
		return nil
	}
	if !on {
		f.registered = false
		return set.Unregister(&f.stacked)
	}
	var fns []uint64
	for ip := range f.hash.Filter.All {
		if ip != 0 { // its module is gone
			fns = append(fns, ip)
		}
	}
	if len(fns) == 0 {
		return nil
	}
	err := set.Register(&f.stacked, fns)
	f.registered = err == nil
	return err
}

// forgetModule takes the functions of a module away from the shared users before it is
// unloaded.
//
// Kernel: fprobe_module_callback, kernel/trace/fprobe.c.
func (s *fprobeSet) forgetModule(m *machine.Machine, name string) {
	if s.set == nil {
		return
	}
	// Only registering can fail.
	_ = s.set.Forget(func(fn uint64) bool {
		at, ok := m.Kallsyms().At(fn)
		return ok && at.Module == name
	})
}
