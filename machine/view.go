package machine

// View is a copy of the state of a machine at one moment, for drawing it.
type View struct {
	Now   Time
	Steps uint64
	CPUs  []CPUState
	Tasks []TaskState // in order of pid, idle tasks excluded
}

// CPUState is one CPU in a View.
type CPUState struct {
	ID           int
	PID          int
	Comm         string
	Halted       bool
	Flags        uint8 // Flag…
	PreemptCount int
	NeedResched  bool
	Stack        []Frame // outermost first
	RunQueue     []int   // pids, first to run first
	Interrupts   []Interrupt
	NextStep     Time // when the CPU's next step is due
}

// TaskState is one task in a View.
type TaskState struct {
	PID, TGID, PPID int
	Comm            string
	Kernel          bool
	State           int64 // State…
	CPU             int
	Wait            Wait
	Runtime         Time // how long it has run, in ns
	Depth           int  // how many functions are on its kernel stack
}

// View copies the machine's state. It may be taken between two steps and
// from within a hook.
func (m *Machine) View() View {
	s := View{Now: m.now, Steps: m.steps}
	for _, c := range m.cpus {
		t := c.Current
		cs := CPUState{
			ID: c.ID, PID: t.PID, Comm: t.Comm, Halted: c.halted, Flags: c.state().Flags,
			PreemptCount: c.PreemptCount, NeedResched: c.NeedResched, NextStep: c.due(),
			Stack:      append([]Frame(nil), t.frames...),
			Interrupts: append([]Interrupt(nil), c.irqs...),
		}
		for _, q := range c.rq {
			cs.RunQueue = append(cs.RunQueue, q.PID)
		}
		s.CPUs = append(s.CPUs, cs)
	}
	for _, t := range m.Tasks() {
		ts := TaskState{
			PID: t.PID, TGID: t.TGID, Comm: t.Comm, Kernel: t.Kernel, State: t.state, CPU: t.cpu.ID,
			Wait: t.wait, Runtime: t.runtime, Depth: len(t.frames),
		}
		if t.Parent != nil {
			ts.PPID = t.Parent.PID
		}
		s.Tasks = append(s.Tasks, ts)
	}
	return s
}
