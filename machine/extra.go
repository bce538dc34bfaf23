package machine

// extraBase is where the symbols lie that Debian's kernel does not have: in the gap
// between its last function and the end of its text.
const extraBase = 0xffffffff81f00000

// extraSymbols are functions of tracers that Debian's kernel is built without. Nothing
// calls them, but records hold addresses inside them.
//
// Departure: their addresses and sizes are made up.
//
// Kernel: trace_irqsoff.c, trace_sched_wakeup.c, kernel/trace.
func extraSymbols() []Symbol {
	names := []string{
		"stop_critical_timings", "start_critical_timings", "tracer_hardirqs_on", "tracer_preempt_on",
		"irqsoff_tracer_call", "wakeup_tracer_call", "probe_wakeup", "probe_wakeup_sched_switch",
		"kthread_fn", "run_osnoise", "osnoise_main", "timerlat_irq", "timerlat_main", "timerlat_fd_read",
		"wakeup_tracer_reset", // in no record, so that all others have an end in /proc/kallsyms
	}
	syms := make([]Symbol, 0, len(names))
	for i, name := range names {
		syms = append(syms, Symbol{Addr: extraBase + uint64(i)*0x100, Name: name, Type: 't'})
	}
	return syms
}
