package machine

// irqCounts counts the interrupts that a CPU has taken.
type irqCounts struct {
	kinds  [BacktraceNMI + 1]uint64
	device map[int]uint64 // by the number of the interrupt
}

func (n *irqCounts) add(irq *Interrupt) {
	n.kinds[irq.Kind]++
	if irq.Kind != Device {
		return
	}
	if n.device == nil {
		n.device = map[int]uint64{}
	}
	n.device[irq.IRQ]++
}

// Interrupts is how many interrupts of some kinds c has taken since the machine was made.
//
// Kernel: irq_stat, arch/x86/kernel/irq.c.
func (c *CPU) Interrupts(kinds ...InterruptKind) (n uint64) {
	for _, k := range kinds {
		n += c.taken.kinds[k]
	}
	return n
}

// DeviceInterrupts is how many interrupts with that number c has taken.
//
// Kernel: kstat_irqs_cpu, kernel/irq/irqdesc.c.
func (c *CPU) DeviceInterrupts(irq int) uint64 { return c.taken.device[irq] }
