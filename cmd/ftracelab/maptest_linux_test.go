package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientsRingBuffer compiles the kernel's own test of mapped ring buffers and runs it in
// a cell. It needs gcc and the sources that lie around the selftests.
func TestClientsRingBuffer(t *testing.T) {
	if os.Getenv("FTRACELAB_CLIENTS") == "" {
		t.Skip("FTRACELAB_CLIENTS is not set: it asks for runs of programs that were written for real kernels")
	}
	missing := func(what string, err error) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", what, err)
		}
		t.Skipf("%s: %v", what, err)
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		missing("the test is compiled", err)
	}
	suite := os.Getenv("FTRACELAB_SELFTESTS")
	source := filepath.Join(suite, "../ring-buffer/map_test.c")
	if _, err := os.Stat(source); err != nil {
		missing("FTRACELAB_SELFTESTS has no test of ring buffers beside it", err)
	}
	// This header is missing on older systems. The others beside it are for the whole of
	// them.
	header, err := os.ReadFile(filepath.Join(suite, "../../../../include/uapi/linux/trace_mmap.h"))
	if err != nil {
		missing("its header", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "linux"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "linux/trace_mmap.h"), header, 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "map_test")
	if out, err := exec.CommandContext(t.Context(), gcc, "-D_GNU_SOURCE", "-I"+dir, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "ftracelab", "exec", "--", program).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "pass:6 fail:0") {
		t.Errorf("%v\n%s", err, out)
	}
}
