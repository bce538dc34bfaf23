package dynevent

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// noKprobes are the functions that are marked with NOKPROBE_SYMBOL, in the order in
// which Debian's 6.12 has them.
//
// Kernel: NOKPROBE_SYMBOL, include/asm-generic/kprobes.h.
const noKprobes = `
perf_event_nmi_handler perf_ibs_nmi_handler do_int3 do_trap __die __die_body __die_header oops_end
oops_begin unknown_nmi_error io_check_error pci_serr_error nmi_handle nmi_cpu_backtrace_handler
arch_rethook_prepare arch_rethook_fixup_return arch_rethook_trampoline_callback
arch_rethook_trampoline kprobe_fault_handler kprobe_int3_handler reenter_kprobe resume_singlestep
setup_singlestep kprobe_post_process kprobe_emulate_jmp_indirect kprobe_emulate_call_indirect
kprobe_emulate_loop kprobe_emulate_jcc kprobe_emulate_jmp kprobe_emulate_call kprobe_emulate_ret
kprobe_emulate_ifmodifiers synthesize_relcall synthesize_reljump setup_detour_execution
optimized_callback kprobe_ftrace_handler native_load_idt do_user_addr_fault do_kern_addr_fault
spurious_kernel_fault notify_die atomic_notifier_call_chain notifier_call_chain preempt_schedule
__rcu_irq_enter_check_tick dump_kprobe kretprobe_rethook_handler pre_handler_kretprobe
kprobe_exceptions_notify kprobes_inc_nmissed_count aggr_post_handler aggr_pre_handler
opt_pre_handler get_kprobe ftrace_ops_assist_func arch_ftrace_ops_list_func perf_trace_buf_update
perf_trace_buf_alloc process_fetch_insn kretprobe_dispatcher kprobe_dispatcher kretprobe_perf_func
kprobe_perf_func kretprobe_trace_func kprobe_trace_func store_trace_entry_data fprobe_exit_handler
fprobe_handler rethook_trampoline_handler rethook_find_ret_addr __rethook_find_ret_addr rethook_hook
rethook_try_get rethook_recycle fexit_dispatcher fentry_dispatcher fexit_perf_func fentry_perf_func
fexit_trace_func trace_fprobe_entry_handler fentry_trace_func user_exit_callable ct_user_exit
user_enter_callable ct_user_enter bsearch nmi_cpu_backtrace
`

// blackRange is a function that must not be probed.
//
// Kernel: struct kprobe_blacklist_entry, include/linux/kprobes.h.
type blackRange struct{ start, end uint64 }

// kprobeBlacklist returns all such functions: those of noKprobes, those that must not be
// instrumented, and those through which the kernel is entered.
//
// Departure: functions of modules that forbid kprobes are not known.
//
// Kernel: populate_kprobe_blacklist, kernel/kprobes.c; arch_populate_kprobe_blacklist,
// arch/x86/kernel/kprobes/core.c.
func (d *Events) kprobeBlacklist() []blackRange {
	if d.kprobes.black != nil {
		return d.kprobes.black
	}
	k := d.machine.Kallsyms()
	for _, name := range strings.Fields(noKprobes) {
		if s, ok := k.ByName(name); ok {
			d.kprobes.black = append(d.kprobes.black, blackRange{s.Addr, s.Addr + s.Size})
		}
	}
	for _, area := range []string{"__kprobes_text", "__noinstr_text", "__entry_text"} {
		at, _ := k.Address(area + "_start")
		end, _ := k.Address(area + "_end")
		for at < end {
			s, ok := k.At(at)
			if !ok {
				break
			}
			d.kprobes.black = append(d.kprobes.black, blackRange{s.Addr, s.Addr + s.Size})
			at = s.Addr + max(s.Size, 1)
		}
	}
	return d.kprobes.black
}

// blacklisted reports whether an address is in such a function, or in a part that the
// compiler has split off from such a function.
//
// Kernel: within_kprobe_blacklist, kernel/kprobes.c.
func (d *Events) blacklisted(addr uint64) bool {
	within := func(addr uint64) bool {
		for _, r := range d.kprobeBlacklist() {
			if addr >= r.start && addr < r.end {
				return true
			}
		}
		return false
	}
	name, _, _, _, _ := d.machine.Kallsyms().Lookup(addr)
	base, _, suffixed := strings.Cut(name, ".")
	s, ok := d.symbol(base)
	return within(addr) || suffixed && ok && within(s.Addr)
}

// noKretprobe is the function whose return must not be probed, because it returns on
// another stack.
//
// Kernel: kretprobe_blacklist, arch/x86/kernel/kprobes/core.c.
const noKretprobe = "__switch_to"

// KprobesDir returns the folder kprobes of debugfs.
//
// Kernel: debugfs_kprobe_init, kernel/kprobes.c.
func (d *Events) KprobesDir() *tracefile.Dir {
	nodes := []tracefile.Node{
		d.host.Seq("list", 0o400, d.showKprobes),
		d.host.Value("enabled", 0o600, func() string {
			if d.kprobes.disarmed {
				return "0\n"
			}
			return "1\n"
		}, d.armKprobes),
		d.host.Seq("blacklist", 0o400, func() (text []byte, err error) {
			for _, r := range d.kprobeBlacklist() {
				name, _, _, _, _ := d.machine.Kallsyms().Lookup(r.start)
				text = fmt.Appendf(text, "0x%016x-0x%016x\t%s\n", r.start, r.end, name)
			}
			return text, nil
		}),
	}
	return &tracefile.Dir{Name: "kprobes", Mode: 0o755, Children: func() []tracefile.Node { return nodes }}
}

// armKprobes carries out a write to enabled. After a 0, no kprobe is hit any more.
//
// Kernel: write_enabled_file_bool, kernel/kprobes.c.
func (d *Events) armKprobes(text string) error {
	on, err := tracefile.ParseBool(text)
	if err != nil {
		return fmt.Errorf("kprobes/enabled: %w", err)
	}
	d.kprobes.disarmed = !on
	d.OptimizeAll()
	return nil
}

// forbidden returns EINVAL for an address where no kprobe may be.
//
// Kernel: check_kprobe_address_safe and register_kretprobe, kernel/kprobes.c.
func (d *Events) forbidden(p *kprobe, addr uint64) error {
	s, ok := d.machine.Kallsyms().At(addr)
	switch {
	case !ok || s.Type|0x20 != 't' && s.Type|0x20 != 'w':
		return fmt.Errorf("kprobe: %#x is no code: %w", addr, syscall.EINVAL)
	case d.blacklisted(addr) || p.ret && s.Name == noKretprobe:
		return fmt.Errorf("kprobe: %s forbids probes: %w", s.Name, syscall.EINVAL)
	}
	return nil
}
