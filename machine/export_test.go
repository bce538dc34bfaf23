package machine

import "fmt"

// CheckOrder compares what the order knows with what the CPUs say.
func (m *Machine) CheckOrder() error {
	if m.order.stale {
		return nil
	}
	best := m.cpus[0]
	for _, c := range m.cpus {
		if got, want := m.order.time(m.order.keys[m.order.leaf(c.ID)]), c.due(); got != want {
			return fmt.Errorf("at %d the next step of cpu%d is due at %d, not at %d", m.now, c.ID, want, got)
		}
		if c.due() < best.due() {
			best = c
		}
	}
	if id, _ := m.order.first(); id != best.ID {
		return fmt.Errorf("at %d cpu%d comes first, not cpu%d", m.now, best.ID, id)
	}
	return nil
}

// Turn is a part of Run: the steps of one CPU.
func (m *Machine) Turn(end Time) bool { return m.turn(end) }
