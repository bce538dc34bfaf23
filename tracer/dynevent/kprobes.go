package dynevent

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracer/functions"
)

// kprobe is a probe at an address of the kernel. A probe on the patched call of a
// function uses the function's entry; any other probe stands in the code.
//
// Kernel: struct kprobe, include/linux/kprobes.h.
type kprobe struct {
	addr     uint64
	hit      func(c *machine.CPU, f *machine.Frame)
	ret      bool // it belongs to a kretprobe
	ftrace   bool // it is on a function's patched call
	disabled bool
	gone     bool // its module was unloaded
	// optimal is the time from which a jump takes the place of the breakpoint: a fixed
	// delay after the probe was armed, or unoptimized if no jump is possible.
	optimal machine.Time
}

// kprobes are the kprobes of the machine.
//
// Kernel: kernel/kprobes.c.
type kprobes struct {
	at        map[uint64][]*kprobe // by address; the latest is first and is called first
	functions map[uint64][]uint64  // by function: the probed addresses except its patched call
	order     []uint64             // the addresses, in the order of their first probes
	armed     int                  // how many probes that are not on patched calls are armed
	ops       functions.Ops        // for the probes on patched calls
	optimize  int32                // debug.kprobes-optimization
	disarmed  bool                 // kprobes/enabled is 0: no probe is hit
	black     []blackRange         // see kprobeBlacklist
}

const jiffy = 4 * machine.Millisecond // HZ is 250

// optimizeDelay is how long a probe is a breakpoint before a jump takes its place.
//
// Kernel: OPTIMIZE_DELAY, kernel/kprobes.c.
const optimizeDelay = 5 * jiffy

// unoptimized is a time that never comes.
const unoptimized = ^machine.Time(0)

func (d *Events) newKprobes() {
	k := &d.kprobes
	k.at, k.functions, k.optimize = map[uint64][]*kprobe{}, map[uint64][]uint64{}, 1
	k.ops = functions.Ops{
		Handler: "kprobe_ftrace_handler", Regs: true,
		Wants: func(ip uint64) bool {
			return !k.disarmed && slices.ContainsFunc(k.at[ip], func(p *kprobe) bool { return p.ftrace && p.runs() })
		},
		Call: func(c *machine.CPU, f *machine.Frame) { hitAll(k.at[f.IP], c, f) },
	}
}

// runs reports whether the probe can be hit.
func (p *kprobe) runs() bool { return !p.disabled && !p.gone }

func hitAll(probes []*kprobe, c *machine.CPU, f *machine.Frame) {
	for _, p := range probes {
		if p.runs() {
			p.hit(c, f)
		}
	}
}

// Armed reports whether any probe that is not on a patched call is armed.
func (d *Events) Armed() bool { return d.kprobes.armed > 0 }

// Call hits the probes inside a function that is entered.
//
// Departure: a probe inside a function is hit once in each call, when the function is
// entered.
func (d *Events) Call(c *machine.CPU, f *machine.Frame) {
	for _, addr := range d.kprobes.functions[f.Func] {
		hitAll(d.kprobes.at[addr], c, f)
	}
}

// kprobeAddr returns the address to which a kprobe on addr goes. At a function's entry,
// that is the address after the endbr64. entry reports whether the probe is at the
// entry. Errors: ENOENT where no function is.
//
// Kernel: _kprobe_addr, kernel/kprobes.c; arch_adjust_kprobe_addr,
// arch/x86/kernel/kprobes/core.c.
func (d *Events) kprobeAddr(addr uint64) (at uint64, entry bool, err error) {
	s, ok := d.machine.Kallsyms().At(addr)
	if !ok {
		return 0, false, fmt.Errorf("kprobe: %#x is in no function: %w", addr, syscall.ENOENT)
	}
	switch offset := addr - s.Addr; {
	case s.Endbr && (offset == 0 || offset == endbrSize):
		return s.Addr + endbrSize, true, nil
	default:
		return addr, offset == 0, nil
	}
}

// endbrSize is the length of the endbr64 with which a function may begin. jumpSize is
// the length of the jump that takes a probe's place.
const (
	endbrSize = 4
	jumpSize  = 5
)

// registerKprobe puts p, whose handler is set, on an address. Errors: ENOENT and EINVAL
// where no probe can be, EILSEQ within an instruction.
//
// Departure: the machine does not know which code a kernel may change while it runs, as
// for static keys, nor where a bug would be reported.
//
// Kernel: register_kprobe, kernel/kprobes.c; arch_prepare_kprobe,
// arch/x86/kernel/kprobes/core.c.
func (d *Events) registerKprobe(p *kprobe, addr uint64) error {
	at, _, err := d.kprobeAddr(addr)
	if err != nil {
		return err
	}
	s, _ := d.machine.Kallsyms().At(at)
	if err := d.forbidden(p, at); err != nil {
		return err
	}
	p.addr, p.ftrace, p.gone, p.optimal = at, s.Traceable && at == s.IP(), false, unoptimized
	if !p.ftrace && !d.machine.InsnBoundary(at) {
		return fmt.Errorf("kprobe: %s+%#x is within an instruction: %w", s.Name, at-s.Addr, syscall.EILSEQ)
	}
	k := &d.kprobes
	if len(k.at[at]) == 0 {
		k.order = append(k.order, at)
		if !p.ftrace {
			k.functions[s.Addr] = append(k.functions[s.Addr], at)
		}
	}
	k.at[at] = slices.Insert(slices.Clone(k.at[at]), 0, p)
	d.kprobesChanged(p)
	return nil
}

// unregisterKprobe removes p.
//
// Kernel: unregister_kprobe, kernel/kprobes.c.
func (d *Events) unregisterKprobe(p *kprobe) {
	k := &d.kprobes
	rest := slices.DeleteFunc(slices.Clone(k.at[p.addr]), func(have *kprobe) bool { return have == p })
	if k.at[p.addr] = rest; len(rest) == 0 {
		delete(k.at, p.addr)
		other := func(addr uint64) bool { return addr == p.addr }
		k.order = slices.DeleteFunc(k.order, other)
		for function, addrs := range k.functions {
			if addrs = slices.DeleteFunc(slices.Clone(addrs), other); len(addrs) > 0 {
				k.functions[function] = addrs
			} else {
				delete(k.functions, function)
			}
		}
	}
	p.disabled = true
	d.kprobesChanged(p)
}

// switchKprobe disables or enables p.
//
// Kernel: enable_kprobe and disable_kprobe, kernel/kprobes.c.
func (d *Events) switchKprobe(p *kprobe, on bool) {
	p.disabled = !on
	d.kprobesChanged(p)
}

// killKprobes marks the probes of a module that is being unloaded. They stay registered
// but are not hit any more.
//
// Kernel: kprobes_module_callback, kernel/kprobes.c.
func (d *Events) killKprobes(module string) {
	for _, addr := range d.kprobes.order {
		if s, ok := d.machine.Kallsyms().At(addr); ok && s.Module == module {
			for _, p := range d.kprobes.at[addr] {
				p.gone = true
				d.kprobesChanged(p)
			}
		}
	}
}

// kprobesChanged updates what is armed after p has changed.
//
// Kernel: arm_kprobe and optimize_kprobe, kernel/kprobes.c.
func (d *Events) kprobesChanged(p *kprobe) {
	k := &d.kprobes
	p.optimal = unoptimized
	if !p.ftrace && p.runs() && !k.disarmed && k.optimize != 0 && d.optimizable(p.addr) {
		p.optimal = d.machine.Now() + optimizeDelay
	}
	onCalls := false
	k.armed = 0
	for _, probes := range k.at {
		for _, p := range probes {
			switch {
			case !p.runs() || k.disarmed:
			case p.ftrace:
				onCalls = true
				d.host.Touch(p.addr)
			default:
				k.armed++
			}
		}
	}
	if onCalls {
		d.host.RegisterOps(&k.ops)
	} else {
		d.host.UnregisterOps(&k.ops)
	}
}

// optimized reports whether a jump has taken the place of the breakpoint.
func (d *Events) optimized(p *kprobe) bool {
	return p.runs() && !d.kprobes.disarmed && d.machine.Now() >= p.optimal
}

// Optimization returns the value of debug.kprobes-optimization, which says whether jumps
// take the place of breakpoints. Call OptimizeAll after changing it.
func (d *Events) Optimization() *int32 { return &d.kprobes.optimize }

// OptimizeAll applies debug.kprobes-optimization to all probes.
//
// Kernel: proc_kprobes_optimization_handler, kernel/kprobes.c.
func (d *Events) OptimizeAll() {
	for _, addr := range d.kprobes.order {
		for _, p := range d.kprobes.at[addr] {
			d.kprobesChanged(p)
		}
	}
}

// kprobeBits is the log2 of the number of buckets of the kernel's table of kprobes.
//
// Kernel: KPROBE_HASH_BITS, kernel/kprobes.c.
const kprobeBits = 6

// showKprobes returns the text of kprobes/list in debugfs. It goes through the buckets of
// the kernel's table; in each bucket the latest address comes first.
//
// Kernel: show_kprobe_addr and report_probe, kernel/kprobes.c.
func (d *Events) showKprobes() ([]byte, error) {
	var text []byte
	bucket := func(addr uint64) uint64 { return addr * 0x61c8864680b583eb >> (64 - kprobeBits) }
	order := slices.Clone(d.kprobes.order)
	slices.Reverse(order)
	slices.SortStableFunc(order, func(a, b uint64) int { return int(bucket(a)) - int(bucket(b)) })
	for _, addr := range order {
		for _, p := range d.kprobes.at[addr] {
			text = d.appendKprobe(text, p)
		}
	}
	return text, nil
}

func (d *Events) appendKprobe(text []byte, p *kprobe) []byte {
	kind := 'k'
	if p.ret {
		kind = 'r'
	}
	if name, module, offset, _, ok := d.machine.Kallsyms().Lookup(p.addr); ok {
		if module == "" {
			module = " "
		}
		text = fmt.Appendf(text, "%016x  %c  %s+%#x  %s ", p.addr, kind, name, offset, module)
	} else {
		text = fmt.Appendf(text, "%016x  %c  %#x ", p.addr, kind, p.addr)
	}
	for _, mark := range []struct {
		set  bool
		text string
	}{{p.gone, "[GONE]"}, {p.disabled && !p.gone, "[DISABLED]"}, {d.optimized(p), "[OPTIMIZED]"}, {p.ftrace, "[FTRACE]"}} {
		if mark.set {
			text = append(text, mark.text...)
		}
	}
	return append(text, '\n')
}

// optimizable reports whether there is room for a jump at addr.
//
// Kernel: can_optimize, arch/x86/kernel/kprobes/opt.c.
func (d *Events) optimizable(addr uint64) bool {
	s, ok := d.machine.Kallsyms().At(addr)
	return ok && s.Addr+s.Size-addr >= jumpSize
}
