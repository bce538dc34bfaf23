package workload

import (
	"strings"
	"testing"

	"ftracelab/machine"
)

// In the scenario frames, five programs begin at the same time on two CPUs. Some wait for a CPU
// and are pulled by the other one, inside set_task_cpu, as in captures. A thread that belongs
// to a CPU is never pulled.
func TestWaitingTasksArePulled(t *testing.T) {
	m := boot(t, "frames", machine.Config{CPUs: 2})
	for _, name := range []string{"sched:sched_waking", "sched:sched_migrate_task"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	var woken *machine.Task
	from := map[string]int{}
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		e, ok := tp.(*machine.SchedMigrate)
		if !ok {
			woken = tp.(*machine.SchedWakeup).Task
			return
		}
		frames := c.Frames()
		inner, _, _, _, _ := m.Kallsyms().Lookup(frames[len(frames)-1].Func)
		if e.Task == woken && inner != "set_task_cpu" {
			return // moved by its wake-up
		}
		if inner != "set_task_cpu" || e.DstCPU != c.ID {
			t.Errorf("%d: CPU %d moves %s to CPU %d inside %s", c.Time, c.ID, e.Task.Comm, e.DstCPU, inner)
		}
		if comm := e.Task.Comm; strings.HasPrefix(comm, "ksoftirqd/") || strings.HasPrefix(comm, "kworker/") && !strings.HasPrefix(comm, "kworker/u") {
			t.Errorf("%d: %s is moved", c.Time, comm)
		}
		for _, f := range frames {
			if name, _, _, _, _ := m.Kallsyms().Lookup(f.Func); name == "sched_balance_newidle" || name == "sched_balance_domains" {
				from[name]++
			}
		}
	}
	m.Run(2 * machine.Second)
	t.Logf("%v", from)
	if from["sched_balance_newidle"] < 5 || from["sched_balance_domains"] < 1 {
		t.Errorf("tasks are pulled in %v", from)
	}
}
