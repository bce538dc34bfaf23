// Package planted plants bugs, and sees to it that tests find them: a test of properties is
// worth something only if it can fail.
package planted

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A bug is a change of one place of the source, and the test that has to fail with it.
type bug struct {
	what, file, from, to string
	pkg, test            string
}

// TestPlanted builds each test with its bug in an overlay of the source, and runs it.
func TestPlanted(t *testing.T) {
	for _, b := range slices.Concat(fgraphBugs, unwindBugs, userWalkBugs) {
		t.Run(b.what, func(t *testing.T) { b.plant(t, "") })
	}
}

// plant runs the test of a bug, which has to fail and to say something of it.
func (b bug) plant(t *testing.T, says string) {
	if testing.Short() {
		t.Skip("builds tests with bugs in them")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, b.file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), b.from); n != 1 {
		t.Fatalf("%s has %d places that read\n%s", b.file, n, b.from)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), b.from, b.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	// A property is tried more often than usual, as the usual number may miss the bug.
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-timeout", "2m", "-overlay", overlay, "-run", "^"+b.test+"$", "./"+b.pkg,
		"-rapid.shrinktime=0s", "-rapid.checks=400")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: "+b.test) || !strings.Contains(string(out), says) {
		t.Errorf("%s does not find it:\n%.1500s", b.test, out)
	}
}
