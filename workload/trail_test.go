package workload

import (
	"slices"
	"testing"

	"ftracelab/machine"
)

// followers are the scenarios whose processes follow trails.
var followers = []string{"tools", "talk", "desk", "calls", "switches", "vfs"}

// stacksAt gives the kernel stacks at a tracepoint, by how often they were seen.
func stacksAt(t *testing.T, scenario, event string, d machine.Time) map[string]int {
	t.Helper()
	m := boot(t, scenario, machine.Config{CPUs: 2})
	if err := m.Enable(event, true); err != nil {
		t.Fatal(err)
	}
	stacks := map[string]int{}
	var ips []uint64
	m.Hooks.Trace = func(c *machine.CPU, _ machine.Tracepoint) {
		ips = c.AppendKernelStack(ips[:0])
		names := ""
		for _, ip := range ips {
			s, ok := m.Kallsyms().At(ip)
			if !ok {
				t.Fatalf("%s: %#x is in no function", scenario, ip)
			}
			names += s.Name + " "
		}
		stacks[names]++
	}
	m.Run(d)
	return stacks
}

// A process that follows a trail enters the kernel, sleeps, is preempted and exits as any
// other one, and when the captured time is over it starts anew.
func TestFollowersLive(t *testing.T) {
	for _, name := range followers {
		m := boot(t, name, machine.Config{CPUs: 2})
		enableAll(t, m)
		enters, exits, deaths, switches := 0, 0, 0, 0
		m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
			switch e := tp.(type) {
			case *machine.SysEnter:
				enters++
			case *machine.SysExit:
				exits++
			case *machine.SchedSwitch:
				switches++
				if e.Prev == e.Next {
					t.Fatalf("%s: %s switches to itself", name, e.Prev.Comm)
				}
			case *machine.SchedProcess:
				if e.ID == machine.EvSchedExit {
					deaths++
				}
			}
		}
		m.Run(3 * machine.Second)
		alive := len(m.Tasks())
		m.Run(12 * machine.Second)
		if enters < 500 || exits < enters*9/10 || deaths < 10 || switches < 500 || len(m.Tasks()) > alive+50 {
			t.Errorf("%s: %d system calls entered and %d left, %d exits, %d switches, %d tasks and then %d",
				name, enters, exits, deaths, switches, alive, len(m.Tasks()))
		}
	}
}

// The stacks of scenarios that follow trails are many, and those of two seeds are nearly
// the same.
func TestFollowersHaveManyStacks(t *testing.T) {
	for _, c := range []struct {
		scenario, event string
		want            int
	}{{"tools", "kmem:kmem_cache_alloc", 200}, {"talk", "sched:sched_switch", 40}, {"desk", "kmem:kmem_cache_alloc", 350}} {
		if n := len(stacksAt(t, c.scenario, c.event, 12*machine.Second)); n < c.want {
			t.Errorf("%s: %d unique stacks at %s, want %d", c.scenario, n, c.event, c.want)
		}
	}
}

// Stacks of the scenario deep are up to 150 functions deeper than those of the system call.
func TestDeepScenario(t *testing.T) {
	m := boot(t, "deep", machine.Config{CPUs: 2})
	if err := m.Enable("kmem:kmem_cache_alloc", true); err != nil {
		t.Fatal(err)
	}
	var depths []int
	m.Hooks.Trace = func(c *machine.CPU, _ machine.Tracepoint) {
		if n := len(c.AppendKernelStack(nil)); n > 20 && c.Current.Comm == "bash" {
			depths = append(depths, n)
		}
	}
	m.Run(machine.Second)
	slices.Sort(depths)
	depths = slices.Compact(depths)
	if len(depths) < 22 || depths[len(depths)-1] < 150 || !slices.Contains(depths, 64) || !slices.Contains(depths, 65) {
		t.Errorf("depths %v", depths)
	}
}
