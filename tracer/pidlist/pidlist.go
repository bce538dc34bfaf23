// Package pidlist has the lists of tasks that set_ftrace_pid, set_event_pid and their
// kin hold.
package pidlist

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// List is a set of tasks; nil is no list at all.
//
// Kernel: struct trace_pid_list, kernel/trace/pid_list.c.
type List map[int32]struct{}

// maxPID is what a list can hold.
//
// Kernel: PID_MAX, kernel/trace/pid_list.h.
const maxPID = 1<<30 - 1

// wordSize is how long a number written may be, its ending NUL included.
//
// Kernel: PID_BUF_SIZE, kernel/trace/trace.c.
const wordSize = 128

// Written is the list with the pids of a write added. A write without any leaves
// an empty list none.
//
// Kernel: trace_pid_write, kernel/trace/trace.c.
func (l List) Written(p []byte) (List, error) {
	next := List{}
	maps.Copy(next, l)
	parser := tracefile.Parser{Size: wordSize}
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
		if uint32(pid) > maxPID {
			return nil, fmt.Errorf("pid %q: %w", word, syscall.EPERM)
		}
		next[int32(pid)] = struct{}{}
	}
	if len(next) == 0 {
		return nil, nil
	}
	return next, nil
}

// Has reports whether the list has a task.
func (l List) Has(pid int) bool {
	_, ok := l[int32(pid)]
	return ok
}

// Show lists the pids, or says that there is no list.
func (l List) Show(none string) []byte {
	if l == nil {
		return []byte(none)
	}
	var text []byte
	for _, pid := range slices.Sorted(maps.Keys(l)) {
		text = append(strconv.AppendInt(text, int64(pid), 10), '\n')
	}
	return text
}

// Forked adds the child of a task that is listed.
//
// Kernel: trace_filter_add_remove_task, kernel/trace/trace.c.
func (l List) Forked(parent, child int) {
	if l != nil && l.Has(parent) {
		l[int32(child)] = struct{}{}
	}
}

// Freed takes out a task that is gone.
func (l List) Freed(pid int) { delete(l, int32(pid)) }
