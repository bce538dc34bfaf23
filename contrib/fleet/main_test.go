package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets tests start fleet itself and, as pool, a process that only holds workers.
func TestMain(m *testing.M) {
	testscript.Main(initialized{m}, map[string]func(){"fleet": main, "pool": pool})
}

// initialized prepares Beam for the pipelines that tests build themselves.
type initialized struct{ m *testing.M }

func (i initialized) Run() int {
	flag.Parse()
	beam.Init()
	log.SetupLogging("error", "text")
	defer func() {
		if dir, _ := tools(); dir != "" {
			os.RemoveAll(dir)
		}
	}()
	return i.m.Run()
}

// tools builds the programs beside fleet, once: ftracelab and Beam's prism. It gives the
// folder that both are in.
var tools = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "fleet-tools-"); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"build", "-C", "../..", "-o", dir, "./cmd/ftracelab"},
		{"build", "-o", dir, "github.com/apache/beam/sdks/v2/go/cmd/prism"},
	} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return "", errors.Join(err, errors.New(string(out)))
		}
	}
	return dir, nil
})

func toolsDir(t testing.TB) string {
	t.Helper()
	dir, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSession replays testdata/fleet.txtar, which shows what fleet does and that it is
// what estimate and merge do.
func TestSession(t *testing.T) {
	bin := toolsDir(t)
	testscript.Run(t, testscript.Params{
		Files:               []string{"testdata/fleet.txtar"},
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", e.Getenv("PATH")+string(filepath.ListSeparator)+bin)
			return nil
		},
	})
}

// status runs a program that has to end with a status: status N PROGRAM [ARG]….
func status(ts *testscript.TestScript, _ bool, args []string) {
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("status %d, not %s", got, args[0])
	}
}

// command is a program that is killed when the test ends, at the latest.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, name, args...)
	t.Cleanup(func() {
		cancel()
		if c.Process != nil {
			_ = c.Wait() // it may have been waited for
		}
	})
	return c
}
