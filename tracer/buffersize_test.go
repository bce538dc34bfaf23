package tracer_test

import (
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
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

// What the buffers of a CPU take together is bounded, as a kernel's memory is:
// instances, larger buffers and snapshots are refused alike, and what is given back
// is there again.
func TestBuffersTogether(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 300_000})
	refused := func(name, text string) {
		t.Helper()
		if got := l.errno(name, text); got != syscall.ENOMEM {
			t.Errorf("%s > %s fails with %v, want ENOMEM", text, name, got)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := l.fs.Mkdir("instances/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.fs.Mkdir("instances/d"); tracefile.Errno(err) != syscall.ENOMEM {
		t.Errorf("the fourth instance of 300 MB: %v, want ENOMEM", err)
	}
	refused("buffer_size_kb", "200000")
	l.write("buffer_size_kb", "70000")
	refused("per_cpu/cpu1/buffer_size_kb", "200000")
	refused("instances/a/snapshot", "1")
	l.write("snapshot", "1") // the last of it
	refused("instances/a/buffer_size_kb", "400000")
	if err := l.fs.Rmdir("instances/c"); err != nil {
		t.Fatal(err)
	}
	l.write("instances/a/snapshot", "1")
	l.write("snapshot", "0")
	if got := l.errno("buffer_size_kb", "2000000"); got != syscall.ENOMEM {
		t.Errorf("2 GB: %v", got)
	}
}
