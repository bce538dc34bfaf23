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

// allCalls is the word of `exec --observe` for all calls but those that are not observable.
const allCalls = "all"

// unobservable says why `exec --observe` refuses calls.
var unobservable = []struct {
	names []string
	why   string
}{
	{[]string{"clone", "clone3", "fork", "vfork", "execveat", "exit", "exit_group"}, "births, new programs and ends are shown without it"},
	{[]string{"wait4"}, "a task waits in it while its process does, and that is shown without it"},
	{[]string{"sendmsg", "futex", "rt_sigreturn", "seccomp"}, "the cell makes this call while it starts observing"},
}

// parseObserved reads the names of system calls, as in sys_enter_NAME.
func parseObserved(names []string) ([]observedCall, error) {
	var calls []observedCall
	for _, name := range names {
		if name == allCalls {
			calls = append(calls, observableCalls()...)
			continue
		}
		nr, ok := events.SyscallNumber(name)
		if !ok {
			return nil, fmt.Errorf("--observe: there is no event sys_enter_%s; events/syscalls has the names of the calls, and %q is all of them", name, allCalls)
		}
		if why := whyNot(name); why != "" {
			return nil, fmt.Errorf("--observe %s: %s", name, why)
		}
		calls = append(calls, observedCall{name, nr})
	}
	return calls, nil
}

// observableCalls are all calls that have events and can be observed, by their numbers.
func observableCalls() []observedCall {
	var calls []observedCall
	for nr, name := range events.SyscallNumbers() {
		if whyNot(name) == "" {
			calls = append(calls, observedCall{name, nr})
		}
	}
	return calls
}

// whyNot says why a call is refused; "" if it is not.
func whyNot(name string) string {
	for _, u := range unobservable {
		if slices.Contains(u.names, name) {
			return u.why
		}
	}
	return ""
}
