package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/report/model/scenarios"
)

// The models that come with the program are what the commands beside them make of the
// captures, byte for byte.
func TestShippedModelsAreMadeAgain(t *testing.T) {
	testutil.Oracle(t)
	testutil.FromEnv(t, "FTRACELAB_CAPTURES", "the folder with the captures of perf script")
	own := testutil.FromEnv(t, "FTRACELAB_SCENARIOS", "the folder with the captures of the scenarios")
	const dir = "../../report/model/scenarios"
	source, err := os.ReadFile(filepath.Join(dir, "scenarios.go"))
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for line := range strings.Lines(string(source)) {
		command, ok := strings.CutPrefix(line, "//go:generate go run ftracelab/cmd/ftracelab ")
		if !ok {
			continue
		}
		made++
		if own == "unavailable" && strings.Contains(command, "$FTRACELAB_SCENARIOS") {
			continue
		}
		args := strings.Fields(os.ExpandEnv(command))
		name, out := "", filepath.Join(t.TempDir(), "model.yaml")
		for n := range args {
			switch args[n] {
			case "--about":
				args[n+1] = filepath.Join(dir, args[n+1])
			case "-o":
				name = strings.TrimSuffix(filepath.Base(args[n+1]), ".yaml")
				args[n+1] = out
			}
		}
		var stderr bytes.Buffer
		if status := run(t.Context(), args, strings.NewReader(""), io.Discard, &stderr); status != 0 {
			t.Errorf("%s: status %d: %s", name, status, &stderr)
			continue
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		want, err := scenarios.Text(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what %q makes", name, command)
		}
	}
	if want := len(scenarios.Names()) - 1; made != want { // nobody learned the adversary
		t.Errorf("%d models are made, want %d", made, want)
	}
}
