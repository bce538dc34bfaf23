package main

import (
	"fmt"
	"slices"

	"ftracelab/tracer/event/events"
)

// observedCall is a system call that `exec --observe` names.
type observedCall struct {
	name string
	nr   int64
}

// unobservable says why `exec --observe` refuses calls.
var unobservable = []struct {
	names []string
	why   string
}{
	{[]string{"clone", "clone3", "fork", "vfork", "execveat", "exit", "exit_group"}, "births, new programs and ends are shown without it"},
	{[]string{"mmap", "newuname"}, "the cell answers this call itself"},
	{[]string{"sendmsg", "futex", "rt_sigreturn", "seccomp"}, "the cell makes this call while it starts observing"},
}

// parseObserved reads the names of system calls, as in sys_enter_NAME.
func parseObserved(names []string) ([]observedCall, error) {
	var calls []observedCall
	for _, name := range names {
		nr, ok := events.SyscallNumber(name)
		if !ok {
			return nil, fmt.Errorf("--observe: there is no event sys_enter_%s; events/syscalls has the names of the calls", name)
		}
		for _, u := range unobservable {
			if slices.Contains(u.names, name) {
				return nil, fmt.Errorf("--observe %s: %s", name, u.why)
			}
		}
		calls = append(calls, observedCall{name, nr})
	}
	return calls, nil
}
