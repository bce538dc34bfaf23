package main

import (
	"bytes"
	"fmt"

	"ftracelab/machine"
	"ftracelab/workload"
)

// systemInterrupts are the lines of /proc/interrupts for what is no device.
//
// Departure: the machine has no others: spurious and thermal interrupts, machine checks
// and so on never happen, and the lines for them are missing. TLB shootdowns and function
// calls are one.
//
// Kernel: arch_show_interrupts, arch/x86/kernel/irq.c.
var systemInterrupts = []struct {
	name, text string
	kinds      []machine.InterruptKind
}{
	{"NMI", "Non-maskable interrupts", []machine.InterruptKind{machine.WatchdogNMI, machine.BacktraceNMI}},
	{"LOC", "Local timer interrupts", []machine.InterruptKind{machine.Tick, machine.Sleep, machine.Replenish}},
	{"RES", "Rescheduling interrupts", []machine.InterruptKind{machine.Reschedule}},
	{"CAL", "Function call interrupts", []machine.InterruptKind{machine.CallFunction}},
}

// interrupts gives the content of /proc/interrupts: how many interrupts each CPU has taken.
//
// Kernel: show_interrupts, kernel/irq/proc.c.
func (l *lab) interrupts() ([]byte, error) {
	var b bytes.Buffer
	err := l.ft.Do(func(m *machine.Machine) error {
		fmt.Fprintf(&b, "%11s", "")
		for n := range m.CPUs() {
			fmt.Fprintf(&b, "%-11s", fmt.Sprintf("CPU%d", n))
		}
		b.WriteString("\n")
		for _, line := range workload.IRQLines(m) {
			fmt.Fprintf(&b, "%3d: ", line.IRQ)
			for _, c := range m.CPUs() {
				fmt.Fprintf(&b, "%10d ", c.DeviceInterrupts(line.IRQ))
			}
			fmt.Fprintf(&b, " %8s %3d-%-8s  %s\n", line.Chip, line.Source, "edge", line.Name)
		}
		for _, line := range systemInterrupts {
			fmt.Fprintf(&b, "%3s: ", line.name)
			for _, c := range m.CPUs() {
				fmt.Fprintf(&b, "%10d ", c.Interrupts(line.kinds...))
			}
			fmt.Fprintf(&b, "  %s\n", line.text)
		}
		return nil
	})
	return b.Bytes(), err
}
