package lab

import "sync"

// recentLists are the steps of the runs that were played last. They depend on the scenario
// and the choices only, not on the step that was asked for.
var recentLists lists

type lists struct {
	mu   sync.Mutex
	last [2]struct { // the newest first
		run   string
		steps []Step
	}
}

// runOf names what the steps of a place depend on.
func runOf(p Place) string {
	p.Step = 0
	return p.String()
}

func (l *lists) get(p Place) ([]Step, bool) {
	run := runOf(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.last {
		if e.run == run {
			return e.steps, true
		}
	}
	return nil, false
}

func (l *lists) put(p Place, steps []Step) {
	run := runOf(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last[0].run == run {
		return
	}
	l.last[1] = l.last[0]
	l.last[0].run, l.last[0].steps = run, steps
}
