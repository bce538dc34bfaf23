package machine

import (
	"slices"
	"testing"
)

// nmiMachine is a CPU with a task that switches interrupts off for a millisecond
// in every stay, and the code of an NMI.
func nmiMachine(t *testing.T) (m *Machine, seen *[]string) {
	t.Helper()
	m, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 10)
	work, err := a.Call("vfs_read").State(FlagIRQsOff, 1, 0).Call("_raw_spin_lock").Wait(uint32(Millisecond)).Return(2).Code()
	if err != nil {
		t.Fatal(err)
	}
	a.Hide("asm_exc_nmi").Hide("exc_nmi").Hide("irqentry_nmi_enter").State(FlagNMI|FlagHardIRQ|FlagIRQsOff, 0, 0).Return(1)
	nmi, err := a.Call("nmi_handle").Ask(1, 1, func(a *Assembler) { a.Call("show_regs").Wait(500).Return(1) }).Return(3).Code()
	if err != nil {
		t.Fatal(err)
	}
	stays := []Stay{{Kind: Syscall, After: 10 * Microsecond, Code: work}}
	m.Boot(Kernel{Sites: a.Sites, Workload: &Script{Stays: map[string][]Stay{"task": stays}, IRQ: nmi}})
	m.Spawn(TaskConfig{Comm: "task"})
	seen = new([]string)
	m.Hooks.Call = func(c *CPU, f *Frame) {
		s, _ := m.Kallsyms().At(f.Func)
		*seen = append(*seen, s.Name)
		if nmi := s.Name != "vfs_read" && s.Name != "_raw_spin_lock"; c.InNMI != nmi || nmi && !(c.IRQsOff && c.InHardIRQ) {
			t.Errorf("%s: NMI %t, hard irq %t, irqs off %t", s.Name, c.InNMI, c.InHardIRQ, c.IRQsOff)
		}
	}
	return m, seen
}

// An NMI comes where interrupts are off, with the preemption count of what it came
// upon, and what it came upon goes on later by as much as it took.
func TestNMIWithInterruptsOff(t *testing.T) {
	m, seen := nmiMachine(t)
	if err := m.Enable("nmi:nmi_handler", true); err != nil {
		t.Fatal(err)
	}
	var rec NMIHandler
	m.Hooks.Trace = func(c *CPU, tp Tracepoint) {
		if c.PreemptCount != 1 {
			t.Errorf("preemption count %d, want 1", c.PreemptCount)
		}
		rec = *tp.(*NMIHandler)
	}
	var crossed []bool
	m.Hooks.NMI = func(_ *CPU, enter bool) { crossed = append(crossed, enter) }
	m.Run(100 * Microsecond)
	c := m.CPUs()[0]
	due := c.opDue
	c.SendNMI(BacktraceNMI)
	c.SendNMI(BacktraceNMI) // while one runs: behind it
	m.Run(100 * Microsecond)
	if c.InNMI || c.InHardIRQ || !c.IRQsOff || c.PreemptCount != 1 {
		t.Errorf("afterwards: %+v", c.condition())
	}
	if want := []string{"vfs_read", "_raw_spin_lock", "nmi_handle", "nmi_cpu_backtrace_handler", "show_regs", "nmi_handle", "nmi_cpu_backtrace_handler", "show_regs"}; !slices.Equal(*seen, want) {
		t.Errorf("called %q, want %q", *seen, want)
	}
	if !slices.Equal(crossed, []bool{true, false, true, false}) {
		t.Errorf("crossed %t", crossed)
	}
	if took := c.opDue - due; took < 1000 || took > 2000 {
		t.Errorf("the task is %d ns late, for two NMIs of 500 ns and some", took)
	}
	if s, _ := m.Kallsyms().ByName("nmi_cpu_backtrace_handler"); rec.Handler != s.Addr || rec.Handled != 1 || rec.Delta != 10+510+10+10+10 {
		t.Errorf("event %+v", rec)
	}
}

// The watchdog counts the time that a CPU runs, not that which it halts.
func TestNMIWatchdog(t *testing.T) {
	m, seen := nmiMachine(t)
	m.SetNMIWatchdog(20 * Millisecond)
	m.Run(100 * Millisecond)
	came := func() (n int) {
		for _, name := range *seen {
			if name == "nmi_handle" {
				n++
			}
		}
		return n
	}
	if n := came(); n != 4 {
		t.Errorf("%d NMIs in 100 ms, want one every 20, the first a little late", n)
	}
	c := m.CPUs()[0]
	left := c.watchdog.at - c.Time
	c.watchdog.halt(c)
	m.Run(Second)
	if n := came(); n != 4 {
		t.Errorf("%d NMIs while the counter stands still", n-4)
	}
	c.watchdog.run(c)
	if c.watchdog.at-c.Time != left {
		t.Errorf("goes on with %d ns left, stopped with %d", c.watchdog.at-c.Time, left)
	}
	m.SetNMIWatchdog(0)
	m.Run(Second)
	if n := came(); n != 4 {
		t.Errorf("%d NMIs when it is off", n-4)
	}
}

// The latency tracers are told that an NMI switches interrupts off, but not that it
// switches them on again, and nothing about preemption.
func TestNMIAndCriticalSections(t *testing.T) {
	m, _ := nmiMachine(t)
	var told []Event
	m.Hooks.Critical = func(_ *CPU, p *PreemptIRQ) { told = append(told, p.ID) }
	m.Run(5 * Microsecond) // user space
	m.CPUs()[0].SendNMI(BacktraceNMI)
	m.Run(4 * Microsecond)
	if want := []Event{EvIRQDisable}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	m.Run(5 * Millisecond)
	if want := []Event{EvIRQDisable, EvPreemptDisable, EvIRQEnable, EvPreemptEnable}; !slices.Equal(told[:4], want) {
		t.Errorf("told %v, want %v", told[:4], want)
	}
}
