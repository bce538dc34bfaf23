package workload

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/machine/klog"
)

// nmiCode is the handler of an NMI. It comes from the watchdog's counter, or from a CPU
// that wants to see the stack of this one. If the watchdog is on, the PMU is asked in
// both cases.
//
// Departure: no capture holds an NMI. The functions and their order are those of the
// kernel's source for an Intel PMU, as far as the symbol table has them. CPUs that show
// their stacks do not wait for each other.
//
// Kernel: default_do_nmi, arch/x86/kernel/nmi.c; intel_pmu_handle_irq,
// arch/x86/events/intel/core.c; watchdog_overflow_callback,
// kernel/watchdog_perf.c.
func (w *mix) nmiCode(kind machine.InterruptKind) machine.Code {
	counts := w.m.NMIWatchdog() > 0
	key := fmt.Sprintf("nmi %d %t", kind, counts)
	if w.codes[key] == nil {
		code, err := w.m.Assemble(90, func(a *machine.Assembler) { assembleNMI(a, kind == machine.WatchdogNMI, counts) })
		if err != nil {
			panic("workload: invariant: " + err.Error())
		}
		w.codes[key] = only(code)
	}
	return w.codes[key][0].code()
}

func assembleNMI(a *machine.Assembler, overflow, counts bool) {
	mine := func(is bool) int32 {
		if is {
			return 1
		}
		return 0
	}
	const pmu, backtrace = 0, 1 // indexes of machine.NMIHandlers
	a.Hide("asm_exc_nmi").Hide("exc_nmi").Hide("irqentry_nmi_enter")
	a.State(machine.FlagNMI|machine.FlagHardIRQ|machine.FlagIRQsOff, 0, 0).Return(1)
	a.Hide("default_do_nmi").Call("nmi_handle").Call("nmi_handle.part.0")
	a.Ask(pmu, mine(overflow), func(a *machine.Assembler) {
		if !counts {
			return
		}
		a.Call("intel_pmu_handle_irq").Call("intel_bts_disable_local").Return(1)
		a.Call("intel_pmu_drain_bts_buffer").Return(1).Call("intel_bts_interrupt").Return(1)
		if overflow {
			a.Call("intel_pmu_lbr_read").Return(1).Call("handle_pmi_common")
			a.Call("intel_pmu_save_and_restart").Call("intel_pmu_update").Return(1).Call("intel_pmu_set_period").Return(2)
			a.Call("perf_event_overflow").Call("__perf_event_overflow").Call("__perf_event_account_interrupt").Return(1)
			a.Call("watchdog_overflow_callback").Call("watchdog_hardlockup_check").Return(5)
		}
		a.Call("__intel_pmu_enable_all.constprop.0").Return(1).Call("intel_bts_enable_local").Return(2)
		a.Call("perf_sample_event_took").Return(1)
	})
	a.Ask(backtrace, mine(!overflow), func(a *machine.Assembler) {
		if a.Hide("nmi_cpu_backtrace"); !overflow {
			a.Call("show_regs").Wait(showStack).Return(1)
		}
		a.Return(1)
	})
	a.Return(3).Hide("irqentry_nmi_exit").Return(3)
}

// showStack is how long a CPU takes to print its stack, on a console for which it need
// not wait.
const showStack = uint32(20 * machine.Microsecond)

// SysRq does what a write of text to sysrq-trigger does: the key l makes every other CPU
// take an NMI and show its stack, z dumps the ring buffer into the kernel's log, and a digit
// is the level of the console. Only the first key counts, but if that is _, all keys after it
// do.
//
// Departure: other keys do nothing, not even say which keys there are. With l, the kernel's log
// does not show the stacks.
//
// Kernel: write_sysrq_trigger, __handle_sysrq and sysrq_handle_loglevel,
// drivers/tty/sysrq.c.
func SysRq(lab Lab, text string) error {
	keys, bulk := strings.CutPrefix(text, "_")
	if !bulk {
		keys = text[:min(len(text), 1)]
	}
	for _, key := range keys {
		var err error
		switch {
		case key == 'l':
			err = showBacktraces(lab)
		case key == 'z':
			err = lab.Do(func(m *machine.Machine) error {
				shout(m, "sysrq: Dump ftrace buffer")
				if m.Hooks.Dump != nil {
					m.Hooks.Dump()
				}
				return nil
			})
		case key >= '0' && key <= '9':
			err = lab.Do(func(m *machine.Machine) error { setLogLevel(m, key-'0'); return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shout writes a message that appears on the console, whatever its level.
func shout(m *machine.Machine, text string) {
	log := m.Log()
	levels := log.Levels()
	raised := levels
	raised[0] = int32(klog.Debug)
	log.SetLevels(raised)
	m.Printk(klog.Info, "%s", text)
	log.SetLevels(levels)
}

// setLogLevel sets the level of the console.
func setLogLevel(m *machine.Machine, level int32) {
	shout(m, "sysrq: Changing Loglevel")
	shout(m, fmt.Sprintf("sysrq: Loglevel set to %d", level))
	levels := m.Log().Levels()
	levels[0] = level
	m.Log().SetLevels(levels)
}

// showBacktraces makes the CPUs show their stacks, and waits until they have.
func showBacktraces(lab Lab) error {
	var done func() bool
	err := lab.Do(func(m *machine.Machine) error {
		w, ok := m.Workload().(*mix)
		if !ok {
			return fmt.Errorf("sysrq-trigger: the machine runs no scenario: %w", syscall.ENODEV)
		}
		shout(m, "sysrq: Show backtrace of all active CPUs")
		done = w.backtrace()
		return nil
	})
	if err == nil {
		err = await(lab, "sysrq l", moduleTimeout, done)
	}
	return err
}

// backtrace starts a task that asks all other CPUs for their stacks.
//
// Departure: a kernel thread stands for the task that writes to sysrq-trigger.
//
// Kernel: sysrq_handle_showallcpus, drivers/tty/sysrq.c;
// nmi_trigger_cpumask_backtrace, lib/nmi_backtrace.c.
func (w *mix) backtrace() (done func() bool) {
	const key = "sysrq l"
	if w.codes[key] == nil {
		code, err := w.m.Assemble(150, func(a *machine.Assembler) {
			a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("ksys_write").Call("vfs_write").Call("proc_reg_write")
			a.Call("write_sysrq_trigger").Call("__handle_sysrq").Call("sysrq_handle_showallcpus")
			a.Call("arch_trigger_cpumask_backtrace").Hide("nmi_trigger_cpumask_backtrace").State(0, 1, 0)
			a.Hide("nmi_cpu_backtrace").Hide("dump_stack").Wait(showStack).Return(2)
			a.Call("nmi_raise_cpu_backtrace").Call("x2apic_send_IPI_mask").Probe().Return(2)
			a.Hide("delay_tsc").Wait(uint32(machine.Millisecond)).Return(1).State(0, 0, 0).Return(8)
			a.Exit().Return(2)
		})
		if err != nil {
			panic("workload: invariant: " + err.Error())
		}
		w.codes[key] = only(code)
	}
	stay := machine.Stay{Kind: machine.KernelWork, After: machine.Microsecond, Code: w.codes[key][0].code(), Probe: func(c *machine.CPU) {
		for _, o := range w.m.CPUs() {
			if o != c {
				o.SendNMI(machine.BacktraceNMI)
			}
		}
	}}
	return startTask(w.m, machine.TaskConfig{Comm: "sh", Kernel: true}, stay)
}
