package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/budget"
)

// TestMemoryFlag: what is refused with the default is read with what the error advises.
func TestMemoryFlag(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "capture")
	if err := os.CopyFS(dir, os.DirFS("../../capture/example/kmem_stack")); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for n := 0; len(text) < 6<<20; n++ {
		text = fmt.Appendf(text, "0x%x : \"text\"\n", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "printk_formats"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	if status := run(t.Context(), []string{"report", "--memory", "128M", dir}, nil, io.Discard, &stderr); status != exitFailed {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	_, advice, _ := strings.Cut(stderr.String(), "at least --memory ")
	size, _, _ := strings.Cut(advice, " ")
	if !strings.Contains(stderr.String(), "printk_formats") || size == "" {
		t.Fatal(stderr.String())
	}
	if status := run(t.Context(), []string{"report", "--memory", size, dir}, nil, io.Discard, &stderr); status != 0 {
		t.Errorf("with --memory %s: status %d: %s", size, status, stderr.String())
	}
	for _, bad := range []string{"1", "63M", "x", "-1G", "1T", "99999999999G", ""} {
		if status := run(t.Context(), []string{"report", "--memory", bad, dir}, nil, io.Discard, io.Discard); status != exitUsage {
			t.Errorf("--memory %q: status %d", bad, status)
		}
	}
}

// TestMemoryOfMachine: the default follows small machines.
func TestMemoryOfMachine(t *testing.T) {
	for machine, want := range map[int64]string{0: "128M", 64 << 30: "128M", 400 << 20: "100M", 100 << 20: "64M"} {
		if got := newMemoryFlag(machine).String(); got != want {
			t.Errorf("%d MiB: %s, want %s", machine>>20, got, want)
		}
	}
	m := newMemoryFlag(0)
	for text, want := range map[string]int64{"1G": 1 << 30, "256m": 256 << 20, "131072K": budget.Default, "134217728": budget.Default} {
		if err := m.Set(text); err != nil || m.bytes != want {
			t.Errorf("%s: %d, %v", text, m.bytes, err)
		}
	}
}
