package workload

import (
	"testing"

	"ftracelab/machine"
)

// In the default scenario, some of the tasks that sleep inside a system call are woken on
// another CPU, and return to user space there. In captures with all scheduler events
// (subsystems/ext4_ls_write, net_tcp, csw_threads, idle_timers), 1 to 5 % of the wake-ups
// move a task. The event comes after sched_waking and before sched_wakeup.
func TestTasksMigrateWithinStays(t *testing.T) {
	m := boot(t, "mix", machine.Config{CPUs: 2})
	for _, name := range []string{"sched:sched_waking", "sched:sched_wakeup", "sched:sched_migrate_task"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	waking := map[*machine.Task]bool{}
	wakeups, moves, within := 0, 0, 0
	inside := map[*machine.Task]*machine.CPU{} // tasks that were moved in a system call, and where to
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		switch e := tp.(type) {
		case *machine.SchedWakeup:
			if waking[e.Task] = e.ID == machine.EvSchedWaking; waking[e.Task] {
				wakeups++
			}
		case *machine.SchedMigrate:
			if !waking[e.Task] {
				t.Errorf("%d: %s is moved, and nobody wakes it", c.Time, e.Task.Comm)
			}
			if e.OrigCPU == e.DstCPU {
				t.Errorf("%d: %s is moved from CPU %d to itself", c.Time, e.Task.Comm, e.OrigCPU)
			}
			if moves++; e.Task.Stay().Kind == machine.Syscall {
				inside[e.Task] = m.CPUs()[e.DstCPU]
			}
		}
	}
	m.Hooks.User = func(c *machine.CPU) {
		if cpu := inside[c.Current]; cpu != nil {
			if cpu == c {
				within++
			}
			delete(inside, c.Current)
		}
	}
	m.Run(8 * machine.Second)
	t.Logf("%d wake-ups, %d migrations, %d of them within a system call that ended there", wakeups, moves, within)
	if share := float64(moves) / float64(wakeups); share < 0.01 || share > 0.05 || within < 10 {
		t.Errorf("%d of %d wake-ups move a task, %d within a system call", moves, wakeups, within)
	}
}
