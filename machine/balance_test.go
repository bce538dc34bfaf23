package machine

import (
	"slices"
	"testing"
)

// queued boots a machine with two CPUs. On CPU 0, "first" sleeps after 10 ms, and until then
// the other tasks wait.
func queued(t *testing.T, balance bool, others ...TaskConfig) *Machine {
	t.Helper()
	m, err := New(Config{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	sleep, err := a.Call("do_nanosleep").Call("schedule").Switch(StateInterruptible).Return(2).Code()
	if err != nil {
		t.Fatal(err)
	}
	script := &Script{Stays: map[string][]Stay{
		"first": {{Kind: Syscall, After: 10 * Millisecond, Code: sleep, Wait: Wait{Timeout: Second, By: Sleep}}},
		"short": {{Kind: Syscall, After: Millisecond, Code: sleep, Wait: Wait{Timeout: Second, By: Sleep}}},
	}}
	m.Boot(Kernel{Sites: a.Sites, Workload: script, Balance: balance})
	m.Spawn(TaskConfig{Comm: "first", CPU: 0, PID: 10})
	for _, cfg := range others {
		m.Spawn(cfg)
	}
	if err := m.Enable("sched:sched_migrate_task", true); err != nil {
		t.Fatal(err)
	}
	if err := m.Enable("sched:sched_switch", true); err != nil {
		t.Fatal(err)
	}
	return m
}

// A CPU that has nothing to run any more pulls a task that waits for another one, and reports
// it before it switches. It leaves tasks that may not move.
func TestIdleCPUPulls(t *testing.T) {
	short := TaskConfig{Comm: "short", CPU: 1, PID: 20}
	waits := TaskConfig{Comm: "waits", CPU: 0, PID: 30}
	bound := waits
	bound.Bound = true
	for _, test := range []struct {
		name    string
		balance bool
		task    TaskConfig
		want    []string
	}{
		{"a task", true, waits, []string{"migrate waits 0 1", "switch to waits"}},
		{"without balance", false, waits, []string{"switch to swapper/1"}},
		{"a bound task", true, bound, []string{"switch to swapper/1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := queued(t, test.balance, short, test.task)
			var seen []string
			m.Hooks.Trace = func(c *CPU, tp Tracepoint) {
				if c.ID != 1 {
					return
				}
				switch e := tp.(type) {
				case *SchedMigrate:
					seen = append(seen, "migrate "+e.Task.Comm+" "+string(rune('0'+e.OrigCPU))+" "+string(rune('0'+e.DstCPU)))
				case *SchedSwitch:
					if e.Prev.Comm == "short" {
						seen = append(seen, "switch to "+e.Next.Comm)
					}
				}
			}
			m.Run(5 * Millisecond)
			if !slices.Equal(seen, test.want) {
				t.Errorf("CPU 1: %q, want %q", seen, test.want)
			}
		})
	}
}

// A task that ran a moment ago stays, because its CPU's caches have what it works with.
func TestHotTaskStays(t *testing.T) {
	m := queued(t, true, TaskConfig{Comm: "waits", CPU: 0, PID: 30})
	m.Run(Millisecond)
	c, o := m.CPUs()[0], m.CPUs()[1]
	if len(c.rq) != 1 {
		t.Fatalf("%d tasks wait for CPU 0", len(c.rq))
	}
	w := c.rq[0]
	for _, test := range []struct {
		out  Time
		want int
	}{{0, 0}, {m.Now() - hot + 1, -1}, {m.Now() - hot, 0}} {
		w.out = test.out
		if got := c.movable(o); got != test.want {
			t.Errorf("a task that ran until %d: place %d, want %d", test.out, got, test.want)
		}
	}
	w.out = 0
	w.Allow(c)
	if got := c.movable(o); got != -1 {
		t.Errorf("a task that may run on CPU 0 only: place %d", got)
	}
}

// A busy CPU asks for a task of another one if that has at least two more. If it has one more,
// it does so every other time.
func TestUnbalanced(t *testing.T) {
	for _, test := range []struct {
		waiting int
		want    []bool
	}{
		{0, []bool{false, false, false}},
		{1, []bool{false, true, false}},
		{2, []bool{true, true, true}},
	} {
		others := []TaskConfig{{Comm: "runs", CPU: 1, PID: 20}}
		for i := range test.waiting {
			others = append(others, TaskConfig{Comm: "waits", CPU: 0, PID: 30 + i})
		}
		m := queued(t, true, others...)
		m.Run(Millisecond)
		c := m.CPUs()[1]
		var got []bool
		for range test.want {
			c.balanceAt = 0
			got = append(got, c.Unbalanced())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d tasks wait for CPU 0: %v, want %v", test.waiting, got, test.want)
		}
		if test.waiting > 0 && c.Unbalanced() {
			t.Error("asked again before its time")
		}
	}
}

// A new task begins on the CPU with the smaller load.
func TestCalmest(t *testing.T) {
	for _, test := range []struct {
		balance bool
		want    int
	}{{true, 1}, {false, 0}} {
		m := queued(t, test.balance, TaskConfig{Comm: "waits", CPU: 0, PID: 30}, TaskConfig{Comm: "runs", CPU: 1, PID: 20})
		m.Run(Millisecond)
		if got := m.CPUs()[0].calmest(&Task{Prio: 120}); got.ID != test.want {
			t.Errorf("balance %v: CPU %d, want %d", test.balance, got.ID, test.want)
		}
	}
}
