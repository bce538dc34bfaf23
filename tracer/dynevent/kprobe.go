package dynevent

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"ftracelab/fgraph/rethook"
	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// kprobeEvents is the kind of probes in the kernel.
//
// Kernel: trace_kprobe_ops, kernel/trace/trace_kprobe.c.
var kprobeEvents = &Kind{Name: "kprobe", Create: (*Events).createKprobe}

// traceKprobe is a probe of a kprobe event.
//
// Kernel: struct trace_kprobe, kernel/trace/trace_kprobe.c.
type traceKprobe struct {
	*traceProbe
	kprobe     *kprobe // nil if its module is not loaded
	hook       *rethook.Hook
	hits       uint64
	missed     uint64
	source     kernelSource
	entryWords []uint64
}

// createKprobe makes a kprobe event, or adds a probe to one. Errors are those of
// registerProbe.
//
// Kernel: __trace_kprobe_create, kernel/trace/trace_kprobe.c.
func (d *Events) createKprobe(command string) error {
	if len(splitArgs(command)) == 0 {
		return nil
	}
	def, err := probe.ParseKprobe(command, probeEnv{d})
	if err != nil {
		return d.probeFault(err)
	}
	p := &traceProbe{d: d, def: def}
	p.on = &traceKprobe{traceProbe: p}
	return d.registerProbe(p)
}

// writeKprobeEvent carries out a line that is written to kprobe_events.
//
// Kernel: create_or_delete_trace_kprobe, kernel/trace/trace_kprobe.c.
func (d *Events) writeKprobeEvent(command string) error {
	if strings.HasPrefix(command, "-") {
		return d.releaseDynEvents(command, kprobeEvents)
	}
	err := d.createKprobe(command)
	if errors.Is(err, syscall.ECANCELED) {
		return fmt.Errorf("kprobe_events: %q: %w", command, syscall.EINVAL)
	}
	return err
}

// register puts the probe into the kernel. A probe in a module that is not loaded waits
// for the module. Errors: ENOENT, EINVAL and EILSEQ as from registerKprobe, and faults
// of the arguments.
//
// Kernel: __register_trace_kprobe, kernel/trace/trace_kprobe.c; register_kretprobe,
// kernel/kprobes.c.
func (k *traceKprobe) register() error {
	err := k.tryRegister()
	if errors.Is(err, syscall.ENOENT) && !k.moduleThere() {
		k.d.host.Warn("trace_kprobe: This probe might be able to register after target module is loaded. Continue.")
		return nil
	}
	return err
}

func (k *traceKprobe) tryRegister() error {
	d, def := k.d, k.def
	addr := def.Addr
	if def.Symbol != "" {
		if s, ok := d.symbol(def.Symbol); ok {
			addr = s.Addr + def.Offset
		}
	}
	if addr != 0 && d.notrace(addr) {
		s, _ := d.machine.Kallsyms().At(addr) // which notrace has found
		d.host.Warn("trace_kprobe: Could not probe notrace function " + s.Name)
		return fmt.Errorf("%s cannot be traced: %w", def.Symbol, syscall.EINVAL)
	}
	if err := def.Resolve(probeEnv{d}); err != nil {
		return err
	}
	switch {
	case addr == 0 && def.Symbol == "":
		return fmt.Errorf("nothing is at address 0: %w", syscall.EINVAL)
	case addr == 0:
		return fmt.Errorf("there is no %s: %w", def.Symbol, syscall.ENOENT)
	}
	p := &kprobe{hit: k.hit, ret: def.Return, disabled: !k.event.enabled()}
	if def.Return {
		if _, entry, err := d.kprobeAddr(addr); err != nil || !entry {
			return errors.Join(err, syscall.EINVAL)
		}
		p.hit = k.enter
		if def.MaxActive == 0 {
			def.MaxActive = max(10, 2*len(d.machine.CPUs()))
		}
		k.hook = rethook.New(k.leave, def.EntryArgs(), def.MaxActive)
	}
	if err := d.registerKprobe(p, addr); err != nil {
		return err
	}
	k.kprobe = p
	return nil
}

// notrace reports whether an address is in a function that ftrace does not know.
//
// Kernel: within_notrace_func, kernel/trace/trace_kprobe.c.
func (d *Events) notrace(addr uint64) bool {
	s, ok := d.machine.Kallsyms().At(addr)
	if !ok || s.Traceable {
		return false
	}
	if base, _, suffixed := strings.Cut(s.Name, "."); suffixed {
		if s, ok := d.symbol(base); ok {
			return !s.Traceable
		}
	}
	return true
}

// moduleThere reports whether the module of the probe is loaded. For a probe on a symbol
// of the kernel itself it is true, because there is no module to wait for.
//
// Kernel: trace_kprobe_module_exist, kernel/trace/trace_kprobe.c.
func (k *traceKprobe) moduleThere() bool {
	module, _, of := strings.Cut(k.def.Symbol, ":")
	return k.def.Symbol != "" && (!of || probeEnv{k.d}.Module(module))
}

// unregister removes the probe from the kernel.
//
// Kernel: __unregister_trace_kprobe, kernel/trace/trace_kprobe.c.
func (k *traceKprobe) unregister() {
	if k.kprobe != nil {
		k.d.unregisterKprobe(k.kprobe)
		k.kprobe = nil
	}
	if k.hook != nil {
		k.hook.Stop()
		k.hook = nil
	}
}

// enable lets the probe be hit; it does not fail.
//
// Kernel: __enable_trace_kprobe and __disable_trace_kprobe,
// kernel/trace/trace_kprobe.c.
func (k *traceKprobe) enable(on bool) error {
	if k.kprobe != nil && !k.kprobe.gone {
		k.d.switchKprobe(k.kprobe, on)
	}
	return nil
}

// kprobeModule registers the probes in a module that was loaded, if the names of their
// functions are unique in it.
//
// Kernel: trace_kprobe_module_callback, kernel/trace/trace_kprobe.c.
func (d *Events) kprobeModule(name string) {
	for _, e := range d.list {
		p, ok := e.(*traceProbe)
		if !ok || p.def.Kind != probe.Kprobe {
			continue
		}
		if module, function, of := strings.Cut(p.def.Symbol, ":"); of && module == name {
			p.on.unregister()
			if (probeEnv{d}).Symbols(module, function) == 1 {
				_ = p.on.register() // the kernel says in its log what failed
			}
		}
	}
}

// hit runs at the probed place.
//
// Kernel: kprobe_dispatcher, kernel/trace/trace_kprobe.c.
func (k *traceKprobe) hit(c *machine.CPU, f *machine.Frame) {
	k.hits++
	if !k.d.host.Listens(k.event.typ) {
		return
	}
	at := k.kprobe.addr
	k.source.enter(k.d, c, f, at+1, true)
	h := k.d.host.Common(c)
	if !k.kprobe.ftrace && c.Time < k.kprobe.optimal {
		nmi, irq, off := c.InNMI, c.InHardIRQ, c.IRQsOff
		c.InNMI, c.InHardIRQ, c.IRQsOff = true, true, true
		defer func() { c.InNMI, c.InHardIRQ, c.IRQsOff = nmi, irq, off }()
		h = atBreakpoint(k.d.host.Common(c))
	}
	k.record(c, h, probe.Hit{IP: at}, &k.source, at+1)
}

// atBreakpoint returns h as the handler of a breakpoint sees it, which is like an NMI.
// The kernel takes one off the preempt count, although the handler has not raised it. If
// the count is 0, the subtraction borrows from the flags.
//
// Kernel: exc_int3, arch/x86/kernel/traps.c; tracing_gen_ctx_dec,
// include/linux/trace_events.h.
func atBreakpoint(h event.Common) event.Common {
	ctx := (uint32(h.Flags)<<16 | uint32(h.PreemptCount)) - 1
	h.Flags, h.PreemptCount = uint8(ctx>>16), uint8(ctx)
	return h
}

// enter runs at the entry of a function whose return is probed.
//
// Kernel: pre_handler_kretprobe, kernel/kprobes.c; trace_kprobe_entry_handler,
// kernel/trace/trace_kprobe.c.
func (k *traceKprobe) enter(c *machine.CPU, f *machine.Frame) {
	n := k.hook.Get()
	if n == nil {
		k.missed++
		return
	}
	k.source.enter(k.d, c, f, k.kprobe.addr+1, true)
	k.entryWords = k.def.AppendEntry(k.entryWords[:0], &k.source)
	copy(n.Data, k.entryWords)
	k.d.host.Rethooks(c.Current).Hook(n, f)
}

// leave runs when such a function returns.
//
// Kernel: kretprobe_dispatcher, kernel/trace/trace_kprobe.c.
func (k *traceKprobe) leave(c *machine.CPU, n *rethook.Node, ret uint64, f *machine.Frame) {
	k.hits++
	if !k.d.host.Listens(k.event.typ) {
		return
	}
	k.source.leave(k.d, c, f, ret, true)
	k.record(c, k.d.host.Common(c), probe.Hit{IP: k.kprobe.addr, RetIP: ret, Entry: n.Data}, &k.source, 0)
}

// showKprobeProfile returns the text of kprobe_profile.
//
// Kernel: probes_profile_seq_show, kernel/trace/trace_kprobe.c.
func (d *Events) showKprobeProfile() ([]byte, error) {
	var text []byte
	for _, e := range d.list {
		if p, ok := e.(*traceProbe); ok && p.def.Kind == probe.Kprobe {
			k := p.on.(*traceKprobe)
			text = fmt.Appendf(text, "  %-44s %15d %15d\n", p.def.Event, k.hits, k.missed)
		}
	}
	return text, nil
}
