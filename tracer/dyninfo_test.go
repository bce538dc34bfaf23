package tracer_test

import (
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// dyn_ftrace_total_info is what Debian's kernel shows with the same functions; a module
// has its own memory there, which it gives back. The scenario is one without modules that
// were not loaded there.
func TestDynInfo(t *testing.T) {
	l := newLabIn(t, "quiet", machine.Config{}, tracer.Config{})
	booted := oracle(t, "debian/static/files/dyn_ftrace_total_info")
	l.want("dyn_ftrace_total_info", booted)
	l.modprobe("preemptirq_delay_test")
	l.want("dyn_ftrace_total_info", "43293 pages:181 groups: 8\n")
	if err := workload.Rmmod(l.ft, "preemptirq_delay_test"); err != nil {
		t.Fatal(err)
	}
	l.want("dyn_ftrace_total_info", booted)
	if err := l.errno("dyn_ftrace_total_info", "0"); err == nil {
		t.Error("it can be written")
	}
}
