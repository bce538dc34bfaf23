package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are the packages of the programs. In the largest one, functions are not put into
// their callers, which makes it smaller by a tenth; the others are faster with it, by half
// or more.
var sources = []struct {
	name, of string
	small    bool
}{
	{"step.wasm", "ftracelab/lab/web/stepper", false},
	{"machine.wasm", "ftracelab/cmd/ftracelab", true},
	{"estimate.wasm", "ftracelab/lab/web/estimator", false},
	{"timeline.wasm", "ftracelab/lab/web/plotter", false},
}

// Build makes the programs of the page in dir with the go command, from the source tree
// that the present folder is in, and a trace.dat for its time line. It takes a minute when
// nothing is in Go's cache.
func Build(ctx context.Context, dir string) error {
	for _, p := range sources {
		to := filepath.Join(dir, p.name)
		if err := compile(ctx, to, p.of, p.small); err != nil {
			return err
		}
		if err := pack(to); err != nil {
			return fmt.Errorf("web: %w", err)
		}
	}
	example := filepath.Join(dir, "example.dat")
	if err := record(ctx, example); err != nil {
		return err
	}
	if err := pack(example); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("web: go env: %w", err)
	}
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "wasm_exec.js"), glue, 0o644)
}

// compile builds a program for js/wasm, as small as it can be or faster.
func compile(ctx context.Context, to, of string, small bool) error {
	flags := "-gcflags=all="
	if small {
		flags += "-l"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", flags, "-o", to, of)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0", "GOWASM=satconv,signext")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("web: build %s: %w\n%s", of, err, said.Bytes())
	}
	return nil
}

// record keeps what the simulated machine traces in a second, in its top buffer and in an
// instance.
func record(ctx context.Context, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "run", "ftracelab/cmd/ftracelab", "run", "--duration", "1s", "--out", to,
		"--instance", "calls", "--set", "set_event=sched irq timer", "--set", "instances/calls/set_event=syscalls")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("web: a trace.dat for the time line: %w\n%s", err, out)
	}
	return nil
}

// pack replaces a file by its compressed form, the same for the same bytes.
func pack(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(name+".gz", packed.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Remove(name)
}
