package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameAsCommand holds what the page gets against what ftracelab estimate prints and
// writes: of the embedded capture, of folded stacks, and of a summary.
func TestSameAsCommand(t *testing.T) {
	dir := t.TempDir()
	folded := filepath.Join(dir, "folded.txt")
	if err := os.WriteFile(folded, []byte("a;b;c_[k] 200\na;b;d_[k] 100\na;e_[k] 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", append([]string{"run", "ftracelab/cmd/ftracelab", "estimate"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	sum := filepath.Join(dir, "x.ftls")
	command("--summary", sum, folded)
	for _, path := range []string{"", folded, sum} {
		told := 0
		v, err := calls(func(string) { told++ })["estimate"]([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		e := v.(*Estimated)
		args := []string{"--memory", "512M"}
		if path != "" {
			args = append(args, path)
		}
		if want := command(args...); e.Text != want {
			t.Errorf("%q: the page gets\n%s\nand the command prints\n%s", path, e.Text, want)
		}
		if want := command(append(args, "--html", "-")...); e.Page != want {
			t.Errorf("%q: the page gets another page than the command writes", path)
		}
	}
}

// TestRefuses: what is no capture gets a sentence with its name.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"m.yaml": "a model is drawn from by the command", "noise": "noise", "gone": "no such file", "empty.ftls": "empty.ftls"} {
		path := filepath.Join(dir, name)
		if name != "gone" {
			text := "\x00\x01<script>\xff"
			if strings.HasPrefix(name, "empty") {
				text = ""
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := calls(func(string) {})["estimate"]([]string{path})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := calls(nil)["estimate"](nil); err == nil {
		t.Error("no argument has an answer")
	}
}
