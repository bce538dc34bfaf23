package workload

import (
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/unwind/user"
)

// TestForksAndExecs: of every process that the default scenario makes, what a walk finds
// from its birth until it is first in user space is the stack of its parent; and where a
// program begins, only the place in the dynamic linker where it does.
func TestForksAndExecs(t *testing.T) {
	m, err := machine.New(machine.Config{CPUs: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Find("mix")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sched:sched_process_fork", "sched:sched_process_exec"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	walk := func(task *machine.Task) []uint64 {
		var w user.Walker
		stack, _ := w.Walk(nil, user.Regs{UserRegs: task.User}, task.Memory, 64)
		return stack
	}
	born, execed := map[*machine.Task][]uint64{}, map[*machine.Task]bool{}
	forks, returns, execs, deepest := 0, 0, 0, 0
	m.Hooks.Trace = func(_ *machine.CPU, tp machine.Tracepoint) {
		switch tp := tp.(type) {
		case *machine.SchedFork:
			forks++
			born[tp.Child] = walk(tp.Parent)
			deepest = max(deepest, len(born[tp.Child]))
		case *machine.SchedExec:
			execs++
			execed[tp.Task] = true
		}
	}
	m.Hooks.UserExit = func(c *machine.CPU) {
		task := c.Current
		if want, ok := born[task]; ok {
			returns++
			if got := walk(task); !slices.Equal(got, want) || len(got) < 3 {
				t.Errorf("%s-%d returns from its birth with %x, its parent was at %x", task.Comm, task.PID, got, want)
			}
			if at := task.Mapping(task.User.IP); at == nil {
				t.Errorf("%s-%d is at %#x, which is not mapped", task.Comm, task.PID, task.User.IP)
			}
			delete(born, task)
		}
		if execed[task] {
			if got := walk(task); len(got) != 1 || task.Mapping(got[0]) == nil || task.Mapping(got[0]).Inode != 901 {
				t.Errorf("%s-%d begins its program with the stack %x", task.Comm, task.PID, got)
			}
			if maps := task.Maps; len(maps) == 0 || maps[0].Path != "/usr/bin/"+task.Comm {
				t.Errorf("%s-%d has mapped %+v", task.Comm, task.PID, task.Maps)
			}
			if n, ok := task.Memory.Load(task.User.SP); !ok || n != 1 {
				t.Errorf("%s-%d has %d arguments", task.Comm, task.PID, n)
			}
			delete(execed, task)
		}
	}
	m.Run(2 * machine.Second)
	t.Logf("%d forks, %d children were first in user space, %d execs, up to %d addresses", forks, returns, execs, deepest)
	if forks < 10 || returns < 10 || execs < 10 {
		t.Errorf("%d forks, %d returns of children, %d execs", forks, returns, execs)
	}
}
