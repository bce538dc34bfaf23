package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/golden"
)

// reportText runs the command.
func reportText(t testing.TB, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), append([]string{"report"}, args...), strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("report %v: status %d: %s", args, status, errs.String())
	}
	return out.Bytes()
}

// TestReport: the command gives the text that the renderer gives; the whole oracle is
// compared in internal/golden.
func TestReport(t *testing.T) {
	root := oracle(t, "")
	for _, name := range []string{
		"debian/events/ev_sched", "debian/function/subbuf_8", "full/function_graph/graph_retval",
		"full/hwlat_osnoise_timerlat/timerlat", "stackmap/v2/pairs2/smc_wrap",
	} {
		kernel := filepath.Join(root, filepath.FromSlash(name[:strings.LastIndex(name[:strings.LastIndex(name, "/")], "/")]))
		texts, _, err := golden.Texts(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || len(texts) < 3 {
			t.Fatalf("%s: %d texts, %v", name, len(texts), err)
		}
		for _, text := range texts {
			args := []string{"--stack-ids", "--kernel", kernel, "--cpu", strconv.Itoa(text.CPU)}
			for _, option := range text.Options {
				args = append(args, "--trace-option", option)
			}
			if diff := text.Difference(reportText(t, append(args, text.Folder(t, kernel))...)); diff != "" {
				t.Errorf("%s: %s: %s", name, text.Form(), diff)
			}
		}
	}
}

const exampleCapture = "../../capture/example/kmem_stack"

// copyOf is a copy of the example with 20 plain pages of each CPU.
func copyOf(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cap")
	if err := os.CopyFS(dir, os.DirFS(exampleCapture)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cpu0.raw", "cpu1.raw"} {
		pages, err := golden.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(filepath.Join(dir, name+".gz")), os.WriteFile(filepath.Join(dir, name), pages[:20*4096], 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runReport runs the command whatever comes of it.
func runReport(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(ctx, append([]string{"report"}, args...), strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func TestReportMistakes(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		ctx    context.Context
		args   []string
		status int
		want   string
	}{
		{context.Background(), []string{"--trace-option", "nonsense", exampleCapture}, exitUsage, `no option "nonsense"`},
		{context.Background(), []string{"--trace-option", "", exampleCapture}, exitUsage, `no option ""`},
		{context.Background(), nil, exitUsage, "accepts 1 arg"},
		{context.Background(), []string{"--cpu", "7", exampleCapture}, exitFailed, "no CPU 7: there are 0…1"},
		{context.Background(), []string{t.TempDir()}, exitFailed, "formats_all"},
		{context.Background(), []string{"report_test.go"}, exitFailed, "neither a trace.dat nor a folder"},
		{context.Background(), []string{"nowhere"}, exitFailed, "open nowhere"},
		{ended, []string{exampleCapture}, exitFailed, "canceled"},
	} {
		if status, _, errs := runReport(tt.ctx, tt.args...); status != tt.status || !strings.Contains(errs, tt.want) {
			t.Errorf("report %v: status %d, %s", tt.args, status, errs)
		}
	}
}

// TestReportDamage: a page that cannot be read is named with its file and offset;
// what is before it is printed, with --keep-going what is behind it, too.
func TestReportDamage(t *testing.T) {
	dir := copyOf(t)
	_, whole, _ := runReport(context.Background(), dir)
	file := filepath.Join(dir, "cpu0.raw")
	pages, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pages[2*4096+9] = 0xff // in the commit word
	if err := os.WriteFile(file, pages, 0o666); err != nil {
		t.Fatal(err)
	}
	status, text, errs := runReport(context.Background(), dir)
	if status != exitFailed || !strings.Contains(errs, "cpu0.raw: offset 8192: bad page") || !strings.Contains(text, "kmem_cache_alloc: ") {
		t.Errorf("status %d, %d bytes, %s", status, len(text), errs)
	}
	status, text, errs = runReport(context.Background(), "--keep-going", dir)
	if status != exitSkipped || !strings.Contains(errs, "the rest of 1 pages") || strings.Count(text, "CPU:0 [LOST EVENTS]\n") != 1 {
		t.Errorf("keep going: status %d, %s", status, errs)
	}
	last := whole[strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n"):]
	if !strings.HasSuffix(text, last) || len(text) < len(whole)*9/10 {
		t.Errorf("keep going: %d of %d bytes", len(text), len(whole))
	}
}

// TestReportCounts: without stats.cpuN the header counts what is on the pages.
func TestReportCounts(t *testing.T) {
	dir := copyOf(t)
	for _, cpu := range []string{"0", "1"} {
		if err := os.Remove(filepath.Join(dir, "stats.cpu"+cpu)); err != nil {
			t.Fatal(err)
		}
	}
	_, text, _ := runReport(context.Background(), dir)
	n := strings.Count(text, "kmem_cache_alloc: ") + strings.Count(text, "<stack trace>\n")
	if want := fmt.Sprintf("# entries-in-buffer/entries-written: %d/%d   #P:2\n", n, n); n == 0 || !strings.Contains(text, want) {
		t.Errorf("%d entries under %.120q", n, text)
	}
}

// TestReportRun: a capture of the simulated machine reads as its own file trace.
func TestReportRun(t *testing.T) {
	for _, set := range [][]string{
		{"current_tracer=function", "options/func_stack_trace=1", "set_ftrace_filter=vfs_*"},
		{"current_tracer=function_graph", "set_event=sched:*", "options/funcgraph-proc=1"},
		{"set_event=kmem:kmem_cache_alloc sched:sched_switch", "options/stacktrace=1"},
		{"set_event=*:*", "options/stacktrace=1", "options/stackmap=1", "trace_clock=x86-tsc"},
		{"set_event=raw_syscalls:*", "options/userstacktrace=1", "buffer_size_kb=8"},
	} {
		dir := filepath.Join(t.TempDir(), "cap")
		args := []string{"run", "--duration", "20ms", "--out", dir}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, strings.NewReader(""), &out, &errs); status != 0 {
			t.Fatalf("%v: %s", args, errs.String())
		}
		content, err := os.ReadFile(filepath.Join(dir, "trace.txt"))
		if err != nil {
			t.Fatal(err)
		}
		want := golden.Text{Content: content}
		if diff := want.Difference(reportText(t, "--stack-ids", dir)); diff != "" || bytes.Count(content, []byte("\n")) < 100 {
			t.Errorf("%v: %d bytes: %s", set, len(content), diff)
		}
	}
}
