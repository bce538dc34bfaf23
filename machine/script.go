package machine

// Script is the smallest workload: every task repeats a list of stays. It is meant for
// tests of code that uses the hooks.
type Script struct {
	Stays  map[string][]Stay // by comm; a task without stays always runs in user space
	IRQ    Code              // what every interrupt executes
	turns  map[*Task]int
	Events func(c *CPU, t *Task, e Event) // fork, exec and exit, may be nil
}

// Next implements Workload.
func (s *Script) Next(c *CPU, t *Task) Stay {
	list := s.Stays[t.Comm]
	if len(list) == 0 {
		return Stay{Kind: KernelWork, After: Second}
	}
	if s.turns == nil {
		s.turns = map[*Task]int{}
	}
	i := s.turns[t]
	s.turns[t] = (i + 1) % len(list)
	return list[i]
}

// Interrupt implements Workload.
func (s *Script) Interrupt(*CPU, Interrupt) Code { return s.IRQ }

// Preempt implements Workload: tasks are not preempted.
func (s *Script) Preempt(*CPU, *Task) Code { return nil }

// Wakee implements Workload: it gives a task that sleeps for that class.
func (s *Script) Wakee(c *CPU, class int32) *Task {
	for _, t := range c.m.Tasks() {
		if w, ok := t.Sleeping(); ok && w.Class == class {
			return t
		}
	}
	return nil
}

// Switch implements Workload: a switch takes no time.
func (s *Script) Switch(*CPU, Switching) Code { return nil }

// Finish implements Workload.
func (s *Script) Finish(*CPU, Switching, bool) Code { return nil }

// Event implements Workload.
func (s *Script) Event(c *CPU, t *Task, e Event, _ int32) {
	if s.Events != nil {
		s.Events(c, t, e)
	}
}
