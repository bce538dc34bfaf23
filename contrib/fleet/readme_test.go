package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestReadme runs the ```sh blocks of README.md in one shell. /tmp is a scratch folder,
// the port is a free one, and go install puts programs into a folder of the test.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	blocks := strings.Split(string(text), "\n```sh\n")[1:]
	for _, b := range blocks {
		block, _, closed := strings.Cut(b, "\n```\n")
		if !closed {
			t.Fatal("a block has no end")
		}
		script.WriteString(block + "\n")
	}
	if len(blocks) < 4 {
		t.Fatalf("README.md has only %d blocks", len(blocks))
	}
	scratch, bin := t.TempDir(), t.TempDir()
	replaced := strings.NewReplacer("/tmp/", scratch+"/", "8073", strconv.Itoa(freePort(t))).Replace(script.String())
	c := command(t, "sh", "-eux", "-c", replaced)
	c.Env = append(os.Environ(), "GOBIN="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if n := strings.Count(string(out), " on 3 machines"); n < 3 {
		t.Errorf("%d answers are about three machines:\n%s", n, out)
	}
}
