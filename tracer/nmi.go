package tracer

import "ftracelab/machine"

// nmi runs where an NMI begins and where it ends, so that tracers that measure do not
// count the NMI as something else.
//
// Kernel: ftrace_nmi_enter and ftrace_nmi_exit, include/linux/ftrace_irq.h.
func (ft *Ftrace) nmi(c *machine.CPU, enter bool) {
	for n := range ft.tracers {
		if nmi := ft.tracers[n].NMI; nmi != nil {
			nmi(c, enter)
		}
	}
}

// hotplug runs before a CPU goes offline, and after one has come online.
func (ft *Ftrace) hotplug(c *machine.CPU, online bool) {
	for n := range ft.tracers {
		if hotplug := ft.tracers[n].Hotplug; hotplug != nil {
			hotplug(c, online)
		}
	}
}
