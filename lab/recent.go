package lab

import "sync"

// recentLists are the steps of the runs that were played last. They depend on the scenario
// and the choices only, not on the step that was asked for.
var recentLists lists

type lists struct {
	mu   sync.Mutex
	last [2]struct { // the newest first
		run string
		list
	}
}

// list is what is known of a run.
type list struct {
	steps []Step
	ends  []int  // the numbers of the steps with which an event has ended that interrupted nothing
	marks []mark // from where a later step is reached sooner
}

// runOf names what the steps of a place depend on.
func runOf(p Place) string {
	p.Step = 0
	return p.String()
}

func (l *lists) get(p Place) (list, bool) {
	run := runOf(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.last {
		if e.run == run {
			return e.list, true
		}
	}
	return list{}, false
}

func (l *lists) put(p Place, known list) {
	run := runOf(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last[0].run == run {
		return
	}
	l.last[1] = l.last[0]
	l.last[0].run, l.last[0].list = run, known
}
