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

// Build makes the programs of the page in dir with the go command, from the source tree
// that the present folder is in. It takes half a minute when nothing is in Go's cache.
func Build(ctx context.Context, dir string) error {
	for _, p := range []struct{ name, of string }{{"step.wasm", "ftracelab/lab/web/stepper"}, {"ftracelab.wasm", "ftracelab/cmd/ftracelab"}} {
		to := filepath.Join(dir, p.name)
		if err := compile(ctx, to, p.of); err != nil {
			return err
		}
		if err := pack(to); err != nil {
			return fmt.Errorf("web: %w", err)
		}
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

// compile builds a program for js/wasm. Functions are not put into their callers, which
// makes it smaller by a tenth.
func compile(ctx context.Context, to, of string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-gcflags=all=-l", "-o", to, of)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0", "GOWASM=satconv,signext")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("web: build %s: %w\n%s", of, err, said.Bytes())
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
