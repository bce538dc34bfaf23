package shell

import (
	"path"
	"strings"
)

// Guides tell of files and tracers that the kernel does not have any more, and of
// programs that the lab does not have. The errno is the kernel's; what is here is the
// sentence that a teacher would add to it.

// oldFiles are the files of tracefs that are gone, or that guides spell wrongly.
var oldFiles = map[string]string{
	"tracing_enabled":  "tracing_on took its place",
	"tracing_enable":   "tracing_on took its place",
	"trace_enabled":    "tracing_on took its place",
	"latency_trace":    "use trace after echo latency-format > trace_options",
	"iter_ctrl":        "trace_options took its place",
	"available_event":  "available_events is its name",
	"trace_entries":    "buffer_size_kb took its place",
	"sched_switch":     "events/sched/sched_switch is its place",
	"branch_annotated": "this kernel is built without the branch profiler",
	"branch_all":       "this kernel is built without the branch profiler",
	"workqueue":        "the events of events/workqueue took its place",
}

// oldTracers are the tracers that are gone, by their names in current_tracer.
var oldTracers = map[string]string{
	"ftrace":           "function is its name now",
	"sched_switch":     "the event took its place: echo 1 > events/sched/sched_switch/enable",
	"sched_wakeup":     "wakeup is its name",
	"sysprof":          "perf record took its place",
	"workqueue":        "the events of events/workqueue took its place",
	"kmemtrace":        "the events of events/kmem took its place",
	"boot":             "the events of events/initcall took its place",
	"initcall":         "the events of events/initcall took its place",
	"power":            "the events of events/power took its place",
	"syscall":          "the events of events/syscalls took its place",
	"ksym_tracer":      "perf's and the kernel's hardware breakpoints took its place",
	"event":            "events are recorded with any tracer: use nop and set_event",
	"branch":           "this kernel is built without it",
	"hw-branch-tracer": "perf record took its place",
}

// otherPrograms are programs that guides use and the lab does not have.
var otherPrograms = map[string]string{
	"vim": editor, "vi": editor, "nano": editor, "emacs": editor, "ed": editor,
	"trace-cmd": host, "perf": host, "rtla": host, "cyclictest": host, "uftrace": host, "kernelshark": "record with it in ftracelab exec, then open the trace.dat",
	"bpftrace": "the lab has no BPF", "gdb": "the lab has nothing to debug",
	"gcc": compiler, "cc": compiler, "make": compiler,
	"strace":    "the machine's system calls are events: echo 1 > events/raw_syscalls/enable",
	"systemctl": "the lab has no services", "service": "the lab has no services",
	"apt": packages, "apt-get": packages, "yum": packages, "dnf": packages,
	"stress": load, "stress-ng": load, "hackbench": load, "yes": load,
	"ping": "the machine has no network",
}

const (
	editor   = "the lab has no editor: write with echo, read with cat"
	host     = "real programs run in a cell: ftracelab exec -- PROGRAM"
	compiler = "the lab has no compiler: matrix_mul is a program that computes"
	packages = "the lab has no packages: help lists its commands"
	load     = "matrix_mul and ftracelab's scenarios make load"
)

// instead says what to use in place of a command that is not there.
func instead(name string) string {
	if hint, ok := otherPrograms[path.Base(name)]; ok {
		return " (" + hint + ")"
	}
	return " (the lab has commands of its own: try help)"
}

// fileHint says what took the place of a file below the tracefs that is not there.
func fileHint(name string) string {
	if !below(name, tracing, debugTracing) {
		return ""
	}
	return oldFiles[path.Base(name)]
}

// writeHint says what to write in place of what a file refused.
func writeHint(name string, data []byte) string {
	if path.Base(name) != "current_tracer" || !below(name, tracing, debugTracing) {
		return ""
	}
	return oldTracers[strings.TrimSpace(string(data))]
}
