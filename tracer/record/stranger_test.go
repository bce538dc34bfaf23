package record_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestStranger builds and runs a module of its own that imports this one and brings a
// map that ftracelab does not know.
func TestStranger(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/stranger")); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("mod", "edit", "-replace", "ftracelab="+root)
	const want = `full-stacks  149.00 bytes per event, map       0 bytes, exists: true
stackmap      60.00 bytes per event, map  573440 bytes, exists: true
ordered       60.00 bytes per event, map   43072 bytes, exists: false
aligned      156.34 bytes per event, map       0 bytes, exists: false
a sub-buffer has 4096 bytes, the map of RFC v4 9052160
`
	if got := run("run", "."); got != want {
		t.Errorf("it prints\n%swant\n%s", got, want)
	}
}
