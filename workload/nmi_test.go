package workload

import (
	"testing"

	"ftracelab/machine"
)

// NMIs come upon everything that a kernel does, and leave it as it was.
func TestNMIsComeUponEverything(t *testing.T) {
	m := boot(t, "mix", machine.Config{})
	m.SetNMIWatchdog(100 * machine.Microsecond)
	upon := map[string]int{}
	type state struct {
		flags, preempt uint8
		frames         int
	}
	var before [4]state
	depth := func(c *machine.CPU) (n int) {
		for _, f := range c.Frames() {
			if s, _ := m.Kallsyms().At(f.Func); s.Name == "asm_exc_nmi" {
				return n
			}
			n++
		}
		return n
	}
	m.Hooks.NMI = func(c *machine.CPU, enter bool) {
		now := state{frames: depth(c), preempt: uint8(c.PreemptCount)}
		if c.InSoftIRQ {
			now.flags = machine.FlagSoftIRQ
		}
		if !enter {
			if now != before[c.ID] {
				t.Errorf("CPU %d: an NMI came upon %+v and left %+v", c.ID, before[c.ID], now)
			}
			return
		}
		before[c.ID] = now
		switch {
		case now.frames == 0:
			upon["user space"]++
		case c.InSoftIRQ:
			upon["softirq"]++
		case c.PreemptCount > 0:
			upon["preemption off"]++
		case c.Current == c.Idle():
			upon["idle"]++
		}
		for _, f := range c.Frames() {
			if s, _ := m.Kallsyms().At(f.Func); s.Name == "asm_sysvec_apic_timer_interrupt" {
				upon["interrupt"]++
			}
		}
	}
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if s, _ := m.Kallsyms().At(f.Func); c.InNMI && !s.Traceable {
			t.Errorf("%s is called where ftrace sees it, which it cannot", s.Name)
		}
	}
	m.Run(500 * machine.Millisecond)
	for _, what := range []string{"user space", "softirq", "preemption off", "interrupt"} {
		if upon[what] == 0 {
			t.Errorf("no NMI came upon %s: %v", what, upon)
		}
	}
}

// What SysRq and the watchdog's NMIs call is there to be traced.
func TestSysRq(t *testing.T) {
	m := boot(t, "mix", machine.Config{})
	lab := testLab{m}
	var taken [4]int
	m.Hooks.NMI = func(c *machine.CPU, enter bool) {
		if enter {
			taken[c.ID]++
		}
	}
	if err := SysRq(lab, "l"); err != nil {
		t.Fatal(err)
	}
	if want := [4]int{0, 1, 1, 1}; taken != want {
		t.Errorf("NMIs %v, want %v: none where it is asked for", taken, want)
	}
	if err := Hotplug(lab, 2, false); err != nil {
		t.Fatal(err)
	}
	if err := SysRq(lab, "_hlx"); err != nil {
		t.Fatal(err)
	}
	if want := [4]int{0, 2, 1, 2}; taken != want {
		t.Errorf("NMIs %v, want %v: CPU 2 is not there", taken, want)
	}
}

type testLab struct{ m *machine.Machine }

func (l testLab) Do(do func(*machine.Machine) error) error { return do(l.m) }
func (l testLab) Run(d machine.Time)                       { l.m.Run(d) }
