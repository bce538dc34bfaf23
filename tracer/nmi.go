package tracer

import "ftracelab/workload/machine"

// nmi runs where an NMI begins and where it ends: what tracers measure shall not
// count it as something else.
//
// Kernel: ftrace_nmi_enter and ftrace_nmi_exit, include/linux/ftrace_irq.h.
func (ft *Ftrace) nmi(c *machine.CPU, enter bool) {
	ft.running = c
	ft.hwlat.nmi(c, enter)
	ft.osnoiseNMI(c, enter)
	ft.running = nil
}
