package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
)

// kernelSelftests are tests of the kernel's own suite, by their path below
// test.d, that pass here as they are. With inInstance a test runs once more in
// an instance, as its flags say.
//
// Left out of these folders, besides what needs histograms, probes and synthetic
// events: mount_options and test_ownership (they remount), event-pid, event-no-pid,
// func-filter-pid and func-filter-notrace-pid (they look for the shell and its
// children, which the machine does not run).
var kernelSelftests = []struct {
	name       string
	inInstance bool
}{
	{"00basic/basic1", false},
	{"00basic/basic2", true},
	{"00basic/basic3", true},
	{"00basic/basic4", false},
	{"00basic/ringbuffer_size", true},
	{"00basic/ringbuffer_subbuf_size", true},
	{"00basic/snapshot", true},
	{"00basic/snapshot1", true},
	{"00basic/trace_marker", true},
	{"00basic/trace_pipe", true},
	{"event/event-enable", true},
	{"event/subsystem-enable", true},
	{"event/toplevel-enable", false},
	{"event/trace_printk", false},
	{"ftrace/fgraph-filter-stack", false},
	{"ftrace/fgraph-filter", false},
	{"ftrace/fgraph-multi", false},
	{"direct/ftrace-direct", false},
	{"ftrace/fgraph-profiler", false},
	{"ftrace/fgraph-retval", false},
	{"ftrace/func-filter-glob", false},
	{"ftrace/func-filter-stacktrace", true},
	{"ftrace/func_cpumask", false},
	{"ftrace/func_event_triggers", true},
	{"ftrace/func_hotplug", false},
	{"ftrace/func_mod_trace", false},
	{"ftrace/func_profile_stat", false},
	{"ftrace/func_profiler", false},
	{"ftrace/func_set_ftrace_file", false},
	{"ftrace/func_stack_tracer", false},
	{"ftrace/func_traceonoff_triggers", true},
	{"ftrace/tracing-error-log", false},
	{"instances/instance", false},
	{"instances/instance-event", false},
	{"preemptirq/irqsoff_tracer", false},
	{"tracer/wakeup", false},
	{"tracer/wakeup_rt", false},
	{"trigger/trigger-eventonoff", true},
	{"trigger/trigger-filter", true},
	{"trigger/trigger-snapshot", false},
	{"trigger/trigger-stacktrace", false},
	{"trigger/trigger-trace-marker-snapshot", true},
	{"trigger/trigger-traceonoff", false},
}

// kernelDriver runs tests as the kernel's ftracetest does, and says before each
// and after it which it is and how it ended.
const kernelDriver = `
export TMPDIR=/tmp
exit_pass() { exit 0; }
exit_fail() { exit 1; }
exit_unresolved() { exit 21; }
exit_untested() { exit 22; }
exit_unsupported() { exit 23; }
exit_xfail() { exit 24; }
checkreq() { check_requires $(grep '^#[ \t]*requires:' "$1" | cut -f2- -d:); }
. %[1]s/functions
run_test() { # test
  (cd $TRACING_DIR; set -e; checkreq %[1]s/$1.tc; initialize_ftrace; . %[1]s/$1.tc)
}
run_here() {
  TRACING_DIR=/sys/kernel/tracing
  run_test $1
  echo "
<<< $1 $?"
}
run_in_instance() {
  TRACING_DIR=/sys/kernel/tracing/instances/ftracetest
  mkdir $TRACING_DIR
  run_test $1
  status=$?
  rmdir $TRACING_DIR || status=30
  echo "
<<< $1_(instance) $status"
}
`

// TestKernelSelftests runs tests of the kernel's suite, unmodified, in one shell
// on one machine.
func TestKernelSelftests(t *testing.T) {
	dir := filepath.Join(testutil.FromEnv(t, "FTRACELAB_SELFTESTS", "tools/testing/selftests/ftrace of a Linux 6.12 source"), "test.d")
	script := fmt.Sprintf(kernelDriver, dir)
	var names []string
	for _, test := range kernelSelftests {
		script += "run_here " + test.name + "\n"
		names = append(names, test.name)
		if test.inInstance {
			script += "run_in_instance " + test.name + "\n"
			names = append(names, test.name+"_(instance)")
		}
	}
	out := runKernelSelftests(t, script)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			said, rest, found := strings.Cut(out, "\n<<< "+name+" ")
			if !found {
				t.Fatalf("it did not run to its end:\n%s", out)
			}
			status, rest, _ := strings.Cut(rest, "\n")
			out = rest
			if status != "0" {
				t.Errorf("status %s:\n%s", status, said)
			}
		})
	}
	t.Logf("%d results", len(names))
}

func runKernelSelftests(t *testing.T, script string) (transcript string) {
	t.Helper()
	// The shells of busy fork at any time, those of mix less often than once in a second.
	l, err := (&labFlags{cpus: 2, seed: 1, preset: "none", wait: shell.WaitForTime}).build("busy")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cfg := l.shellConfig(2)
	cfg.Stdin, cfg.Stdout, cfg.Stderr = strings.NewReader(""), &out, &out
	cfg.Command = func(args []string) { l.ft.Run(commandTime(args)) }
	sh, err := shell.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if _, err = sh.Run(ctx, strings.NewReader(script), "ftracetest"); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	return out.String()
}

// commandTime is how long a command takes. A real shell forks for
// ( echo "forked" ) and for ping, which tests look for in the trace; here they
// take so long that some task of the machine forks, execs and exits meanwhile.
func commandTime(args []string) machine.Time {
	if args[0] == "ping" || strings.Join(args, " ") == "echo forked" {
		return machine.Second
	}
	return 2 * machine.Millisecond
}
