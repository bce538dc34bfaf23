package workload

import (
	"fmt"

	"ftracelab/machine"
)

// port is the PCIe port of the machine. It reports errors on its link, which are seldom
// and do no harm. A thread handles its interrupts.
type port struct {
	handler machine.Code
	round   machine.Code // of the thread
	thread  *machine.Task
}

// The interrupts of the devices that are built in, and what a handler returns.
//
// Kernel: enum irqreturn, include/linux/irqreturn.h.
const (
	serialIRQ = 4
	portIRQ   = 24
	portName  = "aerdrv"

	irqHandled    = 1
	irqWakeThread = 2
)

// portPause is the mean time between two errors on the link of the port.
const portPause = 60 * machine.Millisecond

// irqThreadPriority is the real-time priority of a thread that handles interrupts.
//
// Kernel: sched_set_fifo, kernel/sched/syscalls.c.
const irqThreadPriority = 50

// startPort starts the thread and asks for the first error.
//
// Departure: there is no interrupt with a thread in the captures from which the model was
// learned. The functions and their order are those of a kernel of that version; what the
// thread does about an error is left out, and so is the message about it.
//
// Kernel: drivers/pci/pcie/aer.c; irq_thread, kernel/irq/manage.c.
func (w *mix) startPort() (err error) {
	const off = machine.FlagIRQsOff
	p := &w.port
	p.handler, err = w.m.Assemble(120, func(a *machine.Assembler) {
		beginIRQ(a)
		a.Trace(machine.EvIRQHandlerEntry, 0).Call("aer_irq").Return(1).Trace(machine.EvIRQHandlerExit, irqWakeThread)
		a.Call("__irq_wake_thread").Call("wake_up_process").Call("try_to_wake_up")
		a.Trace(machine.EvSchedWaking, wakePort).Trace(machine.EvSchedWakeup, wakePort).Return(3)
		endIRQ(a)
	})
	if err != nil {
		return err
	}
	p.round, err = w.m.Assemble(150, func(a *machine.Assembler) {
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Hide("kthread").Hide("irq_thread")
		a.Call("schedule").State(0, 1, 0).Hide("__schedule").State(off, 1, 0).Switch(machine.StateInterruptible)
		a.State(0, 1, 0).Return(1).State(0, 0, 0).Return(1)
		a.Call("irq_thread_fn").Call("aer_isr").Return(2).Call("wake_threads_waitq").Return(1).Return(4)
	})
	if err != nil {
		return err
	}
	p.thread = w.m.Spawn(machine.TaskConfig{
		Comm: fmt.Sprintf("irq/%d-%s", portIRQ, portName), PID: portPID, Kernel: true, Bound: true,
		Policy: machine.FIFO, Prio: machine.RTPrio(irqThreadPriority),
		Next: func(*machine.CPU, *machine.Task) machine.Stay {
			return machine.Stay{Kind: machine.KernelWork, Code: p.round, Wait: machine.Wait{Class: wakePort}}
		},
	})
	if !w.cfg.Quiet {
		w.nextPortError(w.m.CPUs()[0])
	}
	return nil
}

// portPID is a pid among those that a kernel gives to its threads when it boots.
const portPID = 61

// nextPortError asks for the next interrupt of the port.
func (w *mix) nextPortError(c *machine.CPU) {
	rng := w.m.Rand("port")
	c.Interrupt(machine.Interrupt{
		At: w.m.Now() + portPause/2 + rng.Uint64N(portPause), Kind: machine.Device, IRQ: portIRQ, Name: portName,
	})
}

// IRQLine is an interrupt of a device, as a line of /proc/interrupts names it.
type IRQLine struct {
	IRQ    int
	Chip   string // the name of the interrupt controller
	Source int    // the number of the interrupt there
	Name   string // of the handler
}

// IRQLines lists the interrupts of the machine's devices, by their numbers.
//
// Departure: a device without events has no line: there is no keyboard, no clock and no
// network.
func IRQLines(m *machine.Machine) []IRQLine {
	lines := []IRQLine{
		{serialIRQ, "IO-APIC", 4, "ttyS0"},
		{portIRQ, "PCI-MSI-0000:00:04.0", 0, portName},
	}
	if !HasDisk(m) {
		return lines
	}
	const disk = "PCI-MSIX-0000:00:03.0"
	lines = append(lines, IRQLine{firstDiskIRQ - 1, disk, 0, "virtio0-config"})
	for n := range m.CPUs() {
		lines = append(lines, IRQLine{firstDiskIRQ + n, disk, 1 + n, diskHandler(n)})
	}
	return lines
}
