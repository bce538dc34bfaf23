package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/option"
	"ftracelab/tracer/pidlist"
)

// pidFile is a file of pids: opening it with > empties it, and each write adds pids.
func (tr *Instance) pidFile(name string, l *pidlist.List, none string) *tracefile.File {
	set := func(next pidlist.List) { *l = next; tr.ft.changed() }
	return tr.seq(name, 0o640, func() ([]byte, error) { return l.Show(none), nil }).
		OnTrunc(func() error { return tr.locked(func() error { set(nil); return nil }) }).
		OnWrite(func(p []byte) error {
			return tr.locked(func() error {
				next, err := l.Written(p)
				if err == nil {
					set(next)
				}
				return err
			})
		})
}

// taskForked and taskFreed keep the lists of tasks that follow forks up to date.
//
// Kernel: ftrace_pid_follow_sched_process_fork, kernel/trace/ftrace.c, and
// event_filter_pid_sched_process_fork, kernel/trace/trace_events.c.
func (ft *Ftrace) taskForked(parent, child *machine.Task) {
	for l := range ft.followed {
		l.Forked(parent.PID, child.PID)
	}
}

func (ft *Ftrace) taskFreed(pid int) {
	for l := range ft.followed {
		l.Freed(pid)
	}
}

// followed yields the lists that follow forks: those of functions with
// options/function-fork, those of events with options/event-fork.
func (ft *Ftrace) followed(yield func(pidlist.List) bool) {
	for tr := range ft.all {
		if tr.opts.Has(option.FunctionFork) && (!yield(tr.functionPIDs) || !yield(tr.functionNoPIDs)) {
			return
		}
		if tr.opts.Has(option.EventFork) && (!yield(tr.pids.only) || !yield(tr.pids.not)) {
			return
		}
	}
}

// followsForks reports whether some list follows forks.
func (ft *Ftrace) followsForks() bool {
	for range ft.followed {
		return true
	}
	return false
}
