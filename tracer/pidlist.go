package tracer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/option"
	"ftracelab/workload/machine"
)

// pidList is a set of tasks; nil is no list at all.
//
// Kernel: struct trace_pid_list, kernel/trace/pid_list.c.
type pidList map[int32]struct{}

// pidMax is what a list can hold.
//
// Kernel: PID_MAX, kernel/trace/pid_list.h.
const pidMax = 1<<30 - 1

// pidWord is how long a number written may be, its ending NUL included.
//
// Kernel: PID_BUF_SIZE, kernel/trace/trace.c.
const pidWord = 128

// written is the list with the pids of a write added. A write without any leaves
// an empty list none.
//
// Kernel: trace_pid_write, kernel/trace/trace.c.
func (l pidList) written(p []byte) (pidList, error) {
	next := pidList{}
	maps.Copy(next, l)
	parser := tracefile.Parser{Size: pidWord}
	for len(p) > 0 {
		n, word, err := parser.Get(p)
		if err != nil {
			return nil, err
		}
		if word == "" {
			word = parser.Rest()
		}
		p = p[n:]
		if word == "" {
			break
		}
		pid, err := tracefile.ParseUlong(word, 0)
		if err != nil {
			return nil, fmt.Errorf("pid %q: %w", word, syscall.EINVAL)
		}
		if uint32(pid) > pidMax {
			return nil, fmt.Errorf("pid %q: %w", word, syscall.EPERM)
		}
		next[int32(pid)] = struct{}{}
	}
	if len(next) == 0 {
		return nil, nil
	}
	return next, nil
}

func (l pidList) has(t *machine.Task) bool {
	_, ok := l[int32(t.PID)]
	return ok
}

// show lists the pids, or says that there is no list.
func (l pidList) show(none string) []byte {
	if l == nil {
		return []byte(none)
	}
	var text []byte
	for _, pid := range slices.Sorted(maps.Keys(l)) {
		text = append(strconv.AppendInt(text, int64(pid), 10), '\n')
	}
	return text
}

// forked adds the child of a task that is listed; freed takes out one that is
// gone.
//
// Kernel: trace_filter_add_remove_task, kernel/trace/trace.c.
func (l pidList) forked(parent, child *machine.Task) {
	if l != nil && l.has(parent) {
		l[int32(child.PID)] = struct{}{}
	}
}

func (l pidList) freed(pid int) { delete(l, int32(pid)) }

// pidFile is a file of pids: > empties it, each write adds.
func (tr *Instance) pidFile(name string, l *pidList, none string) *tracefile.File {
	set := func(next pidList) { *l = next; tr.ft.changed() }
	return tr.seq(name, 0o640, func() ([]byte, error) { return l.show(none), nil }).
		OnTrunc(func() error { return tr.locked(func() error { set(nil); return nil }) }).
		OnWrite(func(p []byte) error {
			return tr.locked(func() error {
				next, err := l.written(p)
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
		l.forked(parent, child)
	}
}

func (ft *Ftrace) taskFreed(pid int) {
	for l := range ft.followed {
		l.freed(pid)
	}
}

// followed yields the lists that follow forks: those of functions with
// options/function-fork, those of events with options/event-fork.
func (ft *Ftrace) followed(yield func(pidList) bool) {
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
