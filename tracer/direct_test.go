package tracer_test

import (
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// A direct call comes behind the tracer's own record of the function's entry, and is
// traced itself; with its module it goes.
func TestDirectCalls(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("current_tracer", "function")
	if err := workload.Modprobe(l.ft, "ftrace-direct", nil); err != nil {
		t.Fatal(err)
	}
	l.ft.Run(20 * machine.Millisecond)
	lines := strings.Split(l.read("trace"), "\n")
	said := 0
	for n, line := range lines {
		_, who, ok := strings.Cut(line, ": my_direct_func: waking up ")
		if !ok {
			continue
		}
		said++
		if who == "" || !strings.Contains(lines[n-1], ": my_direct_func <-my_tramp") || !strings.Contains(lines[n-2], ": wake_up_process <-") {
			t.Errorf("before %q:\n%s\n%s", line, lines[n-2], lines[n-1])
		}
	}
	if said == 0 {
		t.Error("nobody was woken in 20 ms")
	}
	if err := workload.Rmmod(l.ft, "ftrace-direct"); err != nil {
		t.Fatal(err)
	}
	l.write("trace", "")
	l.ft.Run(20 * machine.Millisecond)
	if text := l.read("trace"); strings.Contains(text, "my_direct_func") {
		t.Error("the module is gone, its calls are not")
	}
}
