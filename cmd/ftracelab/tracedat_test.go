package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// ftracelab runs a command line and gives what it prints.
func ftracelab(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("ftracelab %v: exit status %d: %s", args, status, stderr.Bytes())
	}
	return stdout.Bytes()
}

// sameLines reports the first line in which two texts differ.
func sameLines(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.SplitAfter(string(got), "\n"), strings.SplitAfter(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("line %d is\n%swant\n%s", i+1, g[i], w[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(g), len(w))
}

// What trace-cmd printed for files that it recorded on a real kernel, line for line.
func TestReportOfTraceCmd(t *testing.T) {
	dir := filepath.Join(testutil.Oracle(t), "debian/stacks")
	for _, f := range []struct{ dat, report string }{
		{"trace_fn.dat.gz", "trace_fn.report.txt"}, {"trace_ev.dat.gz", "trace_ev.report.txt.gz"},
	} {
		t.Run(f.dat, func(t *testing.T) {
			dat := filepath.Join(t.TempDir(), "trace.dat")
			if err := os.WriteFile(dat, testutil.Gunzip(t, filepath.Join(dir, f.dat)), 0o644); err != nil {
				t.Fatal(err)
			}
			got := ftracelab(t, "report", dat)
			var want []byte
			if strings.HasSuffix(f.report, ".gz") {
				// The oracle has the first 60,000 lines.
				want = testutil.Gunzip(t, filepath.Join(dir, f.report))
				got = bytes.Join(bytes.SplitAfterN(got, []byte("\n"), bytes.Count(want, []byte("\n"))+1)[:bytes.Count(want, []byte("\n"))], nil)
			} else {
				var err error
				if want, err = os.ReadFile(filepath.Join(dir, f.report)); err != nil {
					t.Fatal(err)
				}
			}
			sameLines(t, got, want)
		})
	}
}

// traceCmdReport is what the real trace-cmd prints for a file.
func traceCmdReport(t *testing.T, path string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "trace-cmd", "report", path).Output()
	if err != nil {
		t.Fatalf("trace-cmd report: %v", err)
	}
	return out
}

// Captures of real kernels, converted by us, read by trace-cmd and by us: all kinds of
// records and nearly all events of the kernel.
func TestReportOfConvertedCaptures(t *testing.T) {
	testutil.Program(t, "trace-cmd")
	captures := []string{
		"debian/events/ev_kmem", "debian/events/ev_stacktrace", "full/events/ev_abs_ts", "full/blk/ev_block",
		"debian/function_graph/graph_vfs", "full/function/subbuf_16", "full/events/ev_userstack", "full/events/ev_timer_wq",
	}
	if testing.Short() {
		captures = captures[:3]
	}
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			dat := filepath.Join(t.TempDir(), "trace.dat")
			ftracelab(t, "convert", filepath.Join(testutil.Oracle(t), name), dat)
			want := traceCmdReport(t, dat)
			if n := bytes.Count(want, []byte("\n")); n < 20 {
				t.Errorf("only %d lines", n)
			}
			sameLines(t, ftracelab(t, "report", dat), want)
		})
	}
}

// What the simulated machine traced is the same to trace-cmd and to us.
func TestReportOfRuns(t *testing.T) {
	testutil.Program(t, "trace-cmd")
	for _, r := range []struct{ name, args string }{
		{"events", "--set events/enable=1 --duration 50ms"},
		{"stacks", "--set options/stacktrace=1 --set options/userstacktrace=1 --set set_event=syscalls --duration 30ms"},
		{"function", "--set current_tracer=function --duration 3ms"},
		// Of several CPUs the idle tasks confuse trace-cmd; see package tracecmd.
		{"function_graph", "--set current_tracer=function_graph --cpus 1 --duration 5ms"},
		{"instances", "--instance foo --instance longer --set set_event=sched --set instances/foo/set_event=irq " +
			"--set instances/longer/current_tracer=function --duration 20ms"},
		{"lost", "--set current_tracer=function --set buffer_size_kb=16 --duration 20ms --file-version 6"},
		{"counter", "--set trace_clock=counter --set set_event=sched --duration 20ms"},
		{"deferred user stacks", "--unwind-deferred --set options/userstacktrace_delay=1 --set events/raw_syscalls/enable=1 --set events/inode_cache/enable=1 --duration 20ms"},
		{"markers", "--set trace_marker=hello --set trace_marker_raw=abcdefghijk"},
	} {
		t.Run(r.name, func(t *testing.T) {
			dat := filepath.Join(t.TempDir(), "trace.dat")
			ftracelab(t, append([]string{"run", "--out", dat}, strings.Fields(r.args)...)...)
			want := traceCmdReport(t, dat)
			if n := bytes.Count(want, []byte("\n")); n < 3 {
				t.Errorf("only %d lines", n)
			}
			sameLines(t, ftracelab(t, "report", dat), want)
		})
	}
}
