package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ftracelab/tracefsfs/fusefs/cell"
)

// needCell skips a test that starts programs in a cell where none can be made, and
// fails it in CI.
func needCell(t *testing.T) {
	t.Helper()
	err := cell.Available()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("CI has to provide FUSE: %v", err)
	default:
		t.Skip(err)
	}
}

// TestExec runs programs that every system has against the emulation.
func TestExec(t *testing.T) {
	needCell(t)
	clients(t, "testdata/exec")
}

// TestClients runs real clients, trace-cmd and perf, unmodified. It takes a while
// and needs them installed, so it is asked for by FTRACELAB_CLIENTS=1; then
// whatever is missing is a failure.
func TestClients(t *testing.T) {
	if os.Getenv("FTRACELAB_CLIENTS") == "" {
		t.Skip("FTRACELAB_CLIENTS is not set: it asks for runs of trace-cmd and perf")
	}
	if err := cell.Available(); err != nil {
		t.Fatal(err)
	}
	clients(t, "testdata/clients")
}

func clients(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"need": need},
	})
}

// need fails a script unless the programs it names are installed.
func need(ts *testscript.TestScript, _ bool, args []string) {
	for _, program := range args {
		if _, err := exec.LookPath(program); err != nil {
			ts.Fatalf("this script needs %s: %v", program, err)
		}
	}
}
