package workload

import (
	"testing"

	"ftracelab/machine"
)

// Nobody waits for a CPU that is offline: neither a task that slept there and is to
// be woken there, nor a new one.
func TestOfflineCPUKeepsNobody(t *testing.T) {
	m := boot(t, "quiet", machine.Config{CPUs: 2})
	w := m.Workload().(*mix)
	ran := map[string]int{}
	napper := func(comm string, asleep bool) *machine.Task {
		return m.Spawn(machine.TaskConfig{
			Comm: comm, CPU: 1, Asleep: asleep, Memory: newUserStack(),
			Next: func(*machine.CPU, *machine.Task) machine.Stay {
				ran[comm]++
				return machine.Stay{
					Kind: machine.Syscall, After: machine.Microsecond, NR: sysClockNanosleep, Code: w.pick(sleeps(sysClockNanosleep)),
					Wait: machine.Wait{Timeout: machine.Millisecond, By: machine.Sleep},
				}
			},
		})
	}
	slept := napper("slept", true)
	if err := Hotplug(bareLab{m}, 1, false); err != nil {
		t.Fatal(err)
	}
	m.CPUs()[1].Interrupt(machine.Interrupt{Kind: machine.Sleep, Task: slept})
	napper("new", false)
	m.Run(20 * machine.Millisecond)
	for _, comm := range []string{"slept", "new"} {
		if ran[comm] < 5 {
			t.Errorf("%s ran %d times", comm, ran[comm])
		}
	}
	if m.OnlineCPUs() != 1 {
		t.Error("the CPU is back")
	}
}
