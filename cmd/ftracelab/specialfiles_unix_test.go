//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ended runs a command line that must not hang, whatever it is given.
func ended(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- run(t.Context(), args, strings.NewReader(""), &out, &errs) }()
	select {
	case status = <-done:
		return status, out.String(), errs.String()
	case <-time.After(time.Minute):
		t.Fatalf("%v hangs", args)
		return 0, "", ""
	}
}

// TestSpecialFiles puts a FIFO that nobody writes to and a device without an end where
// a file of a capture or a kernel is expected: they are named, and neither waited for
// nor read.
func TestSpecialFiles(t *testing.T) {
	const example = "../../capture/example/kmem_stack"
	special := map[string]func(path string) error{
		"is a FIFO":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"is a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for kind, put := range special {
		for _, name := range []string{
			"cpu0.raw", "cpu0.raw.zst", "formats_all.txt", "formats_all", "state.txt", "saved_cmdlines", "stats.cpu0", "events/a/b/format",
		} {
			for _, command := range []string{"estimate", "report", "convert"} {
				checkSpecial(t, kind, put, name, command, example, false)
			}
		}
		for _, name := range []string{"trace_options", "current_tracer", "maps.1", "printk_formats", "saved_tgids", "dynamic_events"} {
			checkSpecial(t, kind, put, name, "report", example, false)
		}
		for _, name := range []string{"formats_all.txt", "header_page"} {
			for _, command := range []string{"estimate", "report", "convert"} {
				checkSpecial(t, kind, put, name, command, example, true)
			}
		}
		checkSpecial(t, kind, put, "kallsyms.txt", "convert", example, false)
		checkSpecial(t, kind, put, "kallsyms.txt", "convert", example, true)
	}
}

// checkSpecial puts a special file in place of the file name of a folder, which is the
// capture's or another one that --kernel names.
func checkSpecial(t *testing.T, kind string, put func(string) error, name, command, example string, kernel bool) {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "capture")
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	args := []string{command, dir}
	if command == "convert" {
		args = append(args, filepath.Join(top, "out.dat"))
	}
	where := dir
	if kernel {
		where = filepath.Join(top, "kernel")
		args = append(args, "--kernel", where)
		if err := os.CopyFS(where, os.DirFS(example)); err != nil {
			t.Fatal(err)
		}
		if name == "header_page" { // or the capture's state.txt is asked
			if err := os.Remove(filepath.Join(dir, "state.txt")); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(where, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{path, path + ".gz", strings.TrimSuffix(path, ".zst"), strings.TrimSuffix(path, ".zst") + ".gz", path + ".txt"} {
		if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := put(path); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := ended(t, args...)
	if status != exitFailed || !strings.Contains(stderr, filepath.Join(filepath.Base(where), name)) || !strings.Contains(stderr, kind) {
		t.Errorf("%s with %s: status %d: %s; want %q", command, path, status, stderr, kind)
	}
}

// TestNamedStream: the one stream that the command line names may be a FIFO, as of a
// shell's <(…); what has to be read at any place may not, and nobody waits for it.
func TestNamedStream(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", fifo},
		{"report", "--as", "trace", fifo},
		{"convert", fifo, filepath.Join(dir, "out.dat")},
		{"report", "/dev/zero"},
		{"convert", "/dev/zero", filepath.Join(dir, "out.dat")},
		{"stackmap-dump", "--vmlinux", fifo, "-"},
	} {
		if status, _, stderr := ended(t, args...); status != exitFailed ||
			!strings.Contains(stderr, "regular file") && !strings.Contains(stderr, "neither a trace.dat nor a folder") {
			t.Errorf("%v: status %d: %s", args, status, stderr)
		}
	}
	for _, args := range [][]string{{"estimate", "/dev/zero"}, {"estimate", "/dev/null"}, {"stackmap-dump", "/dev/zero"}} {
		if status, _, stderr := ended(t, args...); status != exitFailed || stderr == "" {
			t.Errorf("%v: status %d: %s", args, status, stderr)
		}
	}
	for text, command := range map[string]string{
		"main;a 3\nmain;b 5\n": "estimate",
		"\x42\x53\x4d\x46\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": "stackmap-dump",
	} {
		go func() {
			if err := os.WriteFile(fifo, []byte(text), 0); err != nil {
				t.Error(err)
			}
		}()
		if status, _, stderr := ended(t, command, fifo); status != 0 {
			t.Errorf("%s of a FIFO: status %d: %s", command, status, stderr)
		}
	}
}
