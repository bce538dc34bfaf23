package machine

import (
	"fmt"
	"slices"
	"testing"
)

// preempted is a Script whose tasks can be preempted.
type preempted struct {
	*Script
	code Code
}

func (p preempted) Preempt(*CPU, *Task) Code { return p.code }

// A task that waits for a CPU, and one that computes, go at once to the CPU that they are
// bound to. Who is in a hurry comes out of user space before its time.
func TestAllow(t *testing.T) {
	m, err := New(Config{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	irq, err := a.Call("sysvec_reschedule_ipi").Return(1).Code()
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := a.Call("do_nanosleep").Call("schedule").Switch(StateInterruptible).Return(2).Code()
	if err != nil {
		t.Fatal(err)
	}
	yield, err := a.Call("schedule").Switch(StatePreempted).Return(1).Code()
	if err != nil {
		t.Fatal(err)
	}
	long := []Stay{{Kind: Syscall, After: Second, Code: sleep, Wait: Wait{Timeout: Second, By: Sleep}}}
	m.Boot(Kernel{Sites: a.Sites, Workload: preempted{&Script{Stays: map[string][]Stay{"computes": long}, IRQ: irq}, yield}})
	for _, pid := range []int{10, 11} {
		m.Spawn(TaskConfig{Comm: "computes", CPU: 0, PID: pid})
	}
	var log []string
	m.Hooks.Trace = func(c *CPU, tp Tracepoint) {
		switch tp := tp.(type) {
		case *SchedMigrate:
			log = append(log, fmt.Sprintf("%d goes to %d", tp.Task.PID, tp.DstCPU))
		case *SchedSwitch:
			log = append(log, fmt.Sprintf("%d after %d", tp.Next.PID, tp.Prev.PID))
		}
	}
	for _, name := range []string{"sched:sched_migrate_task", "sched:sched_switch"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Run(100 * Microsecond)
	waits := m.Task(11)
	for _, step := range []struct {
		do   func()
		want []string
	}{
		{func() { waits.Allow(m.CPUs()[1]) }, []string{"11 goes to 1", "11 after 0"}},
		{func() { waits.Allow(m.CPUs()[1]) }, nil},
		{func() { waits.Allow(m.CPUs()[0]) }, []string{"0 after 11", "11 goes to 0"}},
		{func() { m.Task(10).Hurry() }, []string{"11 after 10"}},
		{func() { waits.Hurry() }, []string{"0 after 11"}},
	} {
		log = nil
		step.do()
		if m.Run(100 * Microsecond); !slices.Equal(log, step.want) {
			t.Errorf("%q, want %q", log, step.want)
		}
	}
}
