package bench_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ftracelab/internal/bench"
)

// TestMain plays ftracelab, trace-cmd and grep when it is started as one of them.
func TestMain(m *testing.M) {
	if os.Getenv("FTRACELAB_BENCH_PROGRAM") == "" {
		os.Exit(m.Run())
	}
	i := slices.Index(os.Args, "--out")
	if os.Args[1] == "convert" {
		i = slices.Index(os.Args, "-o")
	}
	if i > 0 && filepath.Ext(os.Args[i+1]) == "" { // a folder of pages
		if err := errors.Join(os.Mkdir(os.Args[i+1], 0o700), os.WriteFile(filepath.Join(os.Args[i+1], "trace.txt"), []byte("cpu\n"), 0o600)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if i > 0 {
		if err := os.WriteFile(os.Args[i+1], nil, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if _, err := os.Stat(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print("cpus=2\nan entry\nanother\n")
}

func TestTraceCmd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links to programs are made otherwise there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("TMPDIR", temp)
	cfg := tiny("X1", "X1/zstd", "X2", "X2/zstd")
	var notes bytes.Buffer
	cfg.Ftracelab, cfg.Notes = self, &notes
	if rows, err := bench.Run(t.Context(), nil, cfg); err != nil || len(rows) != 0 || !strings.Contains(notes.String(), "no row X2/zstd: trace-cmd is not installed") {
		t.Errorf("without trace-cmd: %v, %v, %q", rows, err, notes.String())
	}

	if err := os.Symlink(self, filepath.Join(dir, "trace-cmd")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FTRACELAB_BENCH_PROGRAM", "1")
	rows, err := bench.Run(t.Context(), nil, cfg)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v, %v", rows, err)
	}
	for i, goal := range []float64{0.05, 0, 0.10, 0} {
		if r := rows[i]; r.NS <= 0 || r.PeerNS <= 0 || r.Ratio <= 0 || r.Goal != goal || r.Peer != "trace-cmd report" {
			t.Errorf("%+v", r)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	cfg.Ftracelab = filepath.Join(dir, "gone")
	if _, err := bench.Run(t.Context(), nil, cfg); err == nil || !strings.Contains(err.Error(), "X1") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestEstimates: the E rows make their captures and remove them.
func TestEstimates(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links to programs are made otherwise there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("TMPDIR", temp)
	t.Setenv("FTRACELAB_BENCH_PROGRAM", "1")
	cfg := tiny("E1", "E2", "E3")
	var notes bytes.Buffer
	cfg.Ftracelab, cfg.Notes = self, &notes
	if rows, err := bench.Run(t.Context(), nil, cfg); err != nil || len(rows) != 0 || !strings.Contains(notes.String(), "no row E3: grep is not installed") {
		t.Errorf("without grep: %v, %v, %q", rows, err, notes.String())
	}
	if err := os.Symlink(self, filepath.Join(dir, "grep")); err != nil {
		t.Fatal(err)
	}
	rows, err := bench.Run(t.Context(), nil, cfg)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
