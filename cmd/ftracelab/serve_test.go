package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// madePrograms is a folder with files in the place of the page's programs.
func madePrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"step.wasm.gz", "machine.wasm.gz", "estimate.wasm.gz", "timeline.wasm.gz", "example.dat.gz", "wasm_exec.js"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServe starts the server, reads the page, and ends the server.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	dir := madePrograms(t)
	go func() { ended <- run(ctx, []string{"serve", "--programs", dir}, strings.NewReader(""), in, io.Discard) }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "<title>ftracelab</title>", "programs/step.wasm.gz": "step.wasm.gz", "app.js": "import("} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(address)+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%q: %v, %.60q", name, err, text)
		}
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not end")
	}
}

// TestServeRefuses has command lines that start nothing.
func TestServeRefuses(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		say    string
	}{
		{[]string{"--listen", "0.0.0.0:8080"}, exitUsage, "want a loopback address"},
		{[]string{"--listen", "8080"}, exitUsage, "want a loopback address"},
		{[]string{"--listen", "localhost:8080"}, exitUsage, "as 127.0.0.1:8080"},
		{[]string{"--programs", t.TempDir()}, exitFailed, "there is no step.wasm.gz"},
		{[]string{"here"}, exitUsage, "unknown command"},
	} {
		var said strings.Builder
		if got := run(t.Context(), append([]string{"serve"}, c.args...), strings.NewReader(""), io.Discard, &said); got != c.status || !strings.Contains(said.String(), c.say) {
			t.Errorf("%q: status %d, %q", c.args, got, said.String())
		}
	}
}

// TestServeExport writes the folder.
func TestServeExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	var said strings.Builder
	if got := run(t.Context(), []string{"serve", "--programs", madePrograms(t), "--export", dir}, strings.NewReader(""), &said, &said); got != 0 {
		t.Fatal(got, said.String())
	}
	for _, name := range []string{"index.html", "programs/machine.wasm.gz", "vendor/xterm.mjs", "vendor/xterm.LICENSE"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
