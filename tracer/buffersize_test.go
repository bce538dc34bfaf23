package tracer_test

import (
	"strings"
	"testing"

	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// The buffer gets its size with the first write that is a use of it, an erroneous one
// included, and with no other.
//
// Kernel: the callers of tracing_update_buffers, kernel/trace.
func TestBufferExpands(t *testing.T) {
	for _, c := range []struct {
		file, text string
		expands    bool
	}{
		{"set_event", "sched:sched_switch\n", true},
		{"set_event", "nosuch\n", true},
		{"set_event", "\n", true},
		{"set_event_pid", "1\n", true},
		{"set_event_pid", "x\n", true},
		{"set_event_notrace_pid", "\n", true},
		{"events/sched/sched_switch/enable", "0\n", true},
		{"events/sched/sched_switch/enable", "2\n", false},
		{"events/sched/enable", "2\n", true},
		{"events/sched/enable", "x\n", false},
		{"events/enable", "0\n", true},
		{"current_tracer", "nop\n", true},
		{"current_tracer", "nosuch\n", true},
		{"snapshot", "x\n", true},
		{"buffer_size_kb", "100\n", true},
		{"per_cpu/cpu0/buffer_size_kb", "100\n", true},
		{"buffer_size_kb", "x\n", false},
		{"set_ftrace_pid", "1\n", false},
		{"set_ftrace_filter", "vfs_read\n", false},
		{"trace_marker", "hello\n", false},
		{"trace_options", "stacktrace\n", false},
		{"trace_clock", "global\n", false},
		{"tracing_on", "0\n", false},
		{"tracing_cpumask", "1\n", false},
		{"trace", "\n", false},
		{"events/sched/sched_switch/trigger", "snapshot\n", false},
		{"events/sched/sched_switch/filter", "prev_pid == 1\n", false},
	} {
		l := newLab(t, tracer.Config{})
		const small = "7 (expanded: 1408)\n"
		l.want("buffer_size_kb", small)
		_ = tracefsfs.WriteFile(l.fs, c.file, c.text) // some are errors
		if got := l.read("buffer_size_kb"); (got != small) != c.expands || strings.Contains(got, "expanded") == c.expands {
			t.Errorf("%s %q: buffer_size_kb is %q", c.file, c.text, got)
		}
	}
	l := newLab(t, tracer.Config{})
	if err := workload.Modprobe(l.ft, "preemptirq_delay_test", nil); err != nil {
		t.Fatal(err)
	}
	l.want("buffer_size_kb", "7 (expanded: 1408)\n")
	if err := workload.Modprobe(l.ft, "trace_printk", nil); err != nil {
		t.Fatal(err)
	}
	l.want("buffer_size_kb", "1410\n")
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.want("instances/foo/buffer_size_kb", "1410\n")
}
