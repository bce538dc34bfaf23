package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// simulated is a small capture folder: the events of the system sched with their
// stacks, and of kallsyms and the formats what they need.
func simulated(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	var errs bytes.Buffer
	if status := run(context.Background(), []string{
		"run", "--cpus", "2", "--set", "set_event=sched:sched_switch sched:sched_waking", "--set", "options/stacktrace=1",
		"--set", "options/userstacktrace=1", "--set", "trace_marker=hello", "--duration", "10ms", "--out", dir,
	}, strings.NewReader(""), &errs, &errs); status != 0 {
		t.Fatalf("run: status %d: %s", status, &errs)
	}
	edit(t, filepath.Join(dir, "kallsyms.txt"), func(text string) string {
		var out strings.Builder
		n := 0
		for line := range strings.Lines(text) {
			if n++; n%100 == 0 || strings.Contains(line, " _stext\n") || strings.Contains(line, " _etext\n") || strings.HasSuffix(line, "schedule\n") {
				out.WriteString(line)
			}
		}
		return out.String()
	})
	edit(t, filepath.Join(dir, "formats_all.txt"), func(text string) string {
		var out strings.Builder
		for part := range strings.SplitSeq(text, "==== ") {
			if strings.HasPrefix(part, "events/ftrace/") || strings.HasPrefix(part, "events/sched/") {
				out.WriteString("==== " + part)
			}
		}
		return out.String()
	})
	for _, name := range []string{"trace.txt", "printk_formats", "README"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// edit rewrites a file.
func edit(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, change(string(text)))
}

// put writes a file and returns its path.
func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// must runs a command that has to succeed, and returns what it printed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("%q: status %d: %s", args, status, &errs)
	}
	return out.String()
}
