package bridge

import (
	"testing"

	"ftracelab/tracefsfs/fusefs"
)

// Files that show what was recorded are seen as they are now, also by readers of a machine
// that lags. A script that goes through the files of all events does not wait.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		op   fusefs.Op
		path string
		want bool
	}{
		{fusefs.OpOpen, "trace", true},
		{fusefs.OpOpen, "instances/foo/trace_pipe", true},
		{fusefs.OpOpen, "per_cpu/cpu0/trace_pipe_raw", true},
		{fusefs.OpOpen, "per_cpu/cpu0/stats", true},
		{fusefs.OpOpen, "events/sched/sched_switch/hist", true},
		{fusefs.OpOpen, "snapshot", true},
		{fusefs.OpOpen, "kprobe_profile", true},
		{fusefs.OpOpen, "trace_stat/function0", true},
		{fusefs.OpOpen, "tracing_max_latency", true},
		{fusefs.OpRead, "trace", false}, // its open has waited
		{fusefs.OpOpen, "events/sched/sched_switch/trigger", false},
		{fusefs.OpOpen, "events/enable", false},
		{fusefs.OpOpen, "set_ftrace_filter", false},
	} {
		if got := shows(fusefs.Request{Op: c.op, Path: c.path}); got != c.want {
			t.Errorf("%d of %s: %v", c.op, c.path, got)
		}
	}
}
