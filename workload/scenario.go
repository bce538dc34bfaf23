package workload

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/machine"
)

// Scenario is a workload with a name.
type Scenario struct {
	Name string
	Doc  string
	// Start boots m with the scenario's kernel and tasks; the next Run executes it.
	Start func(m *machine.Machine) error
}

// Beside is the scenario of a machine in which programs of this computer run. These programs
// are most of what happens, and the machine has to keep up with the clock on the wall.
const Beside = "beside"

// Scenarios lists all scenarios, the default first. Those of userScenarios are not in the
// programs of a web page.
func Scenarios() []Scenario {
	const us, ms = machine.Microsecond, machine.Millisecond
	mix := func(load string) func(*machine.Machine) error {
		return start(func(cpus int) Config {
			n := machine.Time(cpus) // with more shells, each does less
			return Config{
				Shells: cpus, Pause: n * 100 * ms, Rest: n * 2000 * ms, Calm: 2, Compute: 100 * us, Daemon: 30 * ms,
				Loads: []string{load}, Lively: 1000 * ms,
			}
		})
	}
	mixed := mix(mixedLoad)
	return slices.Concat([]Scenario{
		{"mix", "shells that fork, exec, read, write, pipe, poll and sleep, and later mostly the programs of desk, which follow their stacks", mixed},
		{"busy", "four shells on every CPU that hardly leave the kernel", start(func(cpus int) Config {
			return Config{Shells: 4 * cpus, Pause: 3 * ms, Compute: 100 * us}
		})},
		{"quiet", "one shell that seldom does something", start(func(int) Config {
			return Config{Shells: 1, Pause: 200 * ms, Compute: 500 * us}
		})},
		{Beside, "mix with programs of desk at a third of the pace, for a machine on which programs of this computer run, too", mix(besideLoad)},
		{"firmware", "mix, and a firmware that now and then takes the whole machine for itself", func(m *machine.Machine) error {
			m.SetSMI(150*ms, 80*us)
			return mixed(m)
		}},
		{"disk", "mix, and a process that reads and writes a disk, whose driver is the module virtio_blk", func(m *machine.Machine) error {
			if err := mixed(m); err != nil {
				return err
			}
			return startCopying(m)
		}},
		{"tools", "find, tar, sort, gzip, grep and small servers, which follow the stacks of their allocations", follow("tools")},
		{"vfs", "the programs of tools, which follow the stacks of vfs functions and of allocations", follow("tools calls")},
		{"talk", "processes and threads that talk through pipes, futexes, poll and sockets, and follow the stacks of their switches", follow("talk")},
		{"desk", "a compiler, archives, an interpreter and sockets, which follow the stacks of their allocations", follow("desk")},
		{"calls", "the programs of desk, which follow the stacks of vfs functions", follow("desk calls")},
		{"switches", "the programs of desk, which follow the stacks of their switches", quiet("desk switches")},
	}, userScenarios(), []Scenario{
		{"deep", "mix, and a process whose system calls recurse up to 150 deep in the module deepst", func(m *machine.Machine) error {
			if err := mixed(m); err != nil {
				return err
			}
			return startDeep(m)
		}},
		{"longjmp", "mix, and a process whose system calls leave three functions of the module ljst at once, without returning from them", func(m *machine.Machine) error {
			if err := mixed(m); err != nil {
				return err
			}
			return startLongjmp(m)
		}},
		{"idle", "kernel threads and timers only", start(func(int) Config { return Config{} })},
	})
}

// follow makes a scenario of loads.
func follow(loads ...string) func(*machine.Machine) error {
	return start(func(int) Config { return Config{Loads: loads} })
}

// quiet is follow on a machine without errors on the link of its port.
func quiet(loads ...string) func(*machine.Machine) error {
	return start(func(int) Config { return Config{Loads: loads, Quiet: true} })
}

func start(cfg func(cpus int) Config) func(*machine.Machine) error {
	return func(m *machine.Machine) error { return Start(m, cfg(len(m.CPUs()))) }
}

// Find returns the scenario with that name; "" stands for the default.
//
// The error names the scenario that does not exist.
func Find(name string) (Scenario, error) {
	all := Scenarios()
	for _, s := range all {
		if s.Name == name || name == "" {
			return s, nil
		}
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("workload: no scenario %q; there are %s", name, strings.Join(names, ", "))
}
