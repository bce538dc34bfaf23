package machine_test

import (
	"testing"

	"pgregory.net/rapid"

	"ftracelab/machine"
	"ftracelab/workload"
)

// After the steps of each CPU, the order of the CPUs is the one that all of them would
// give: under every scenario, while CPUs go offline and NMIs and SMIs come.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := machine.New(machine.Config{CPUs: rapid.IntRange(1, 9).Draw(t, "cpus"), Seed: rapid.Uint64Range(1, 1000).Draw(t, "seed")})
		if err != nil {
			t.Fatal(err)
		}
		scenarios := workload.Scenarios()
		if err := scenarios[rapid.IntRange(0, len(scenarios)-1).Draw(t, "scenario")].Start(m); err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "NMIs") {
			m.SetNMIWatchdog(50 * machine.Microsecond)
		}
		if rapid.Bool().Draw(t, "SMIs") {
			m.SetSMI(100*machine.Microsecond, 20*machine.Microsecond)
		}
		for end := machine.Time(0); end < 20*machine.Millisecond; end += 4 * machine.Millisecond {
			for m.Turn(end) {
				if err := m.CheckOrder(); err != nil {
					t.Fatal(err)
				}
			}
			id := rapid.IntRange(0, len(m.CPUs())-1).Draw(t, "cpu")
			if id > 0 {
				if err := m.SetOnline(id, !m.CPUs()[id].Online()); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range m.CPUs() {
				c.SendNMI(machine.BacktraceNMI)
			}
		}
	})
}
