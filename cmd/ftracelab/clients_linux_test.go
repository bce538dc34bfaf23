package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"mvdan.cc/sh/v3/shell"

	"ftracelab/capture"
	"ftracelab/tracefsfs/fusefs/cell"
	"ftracelab/tracer/record"
	"ftracelab/tracer/tracedat"
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

// TestClients runs real clients, trace-cmd, perf and others, unmodified. It takes a while
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
	testscript.RunT(serial{t}, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"need": need, "tally": tally},
		Setup: func(env *testscript.Env) error {
			// Beside the selftests in the kernel's source.
			env.Setenv("PERF_FTRACE_TEST", filepath.Join(os.Getenv("FTRACELAB_SELFTESTS"), "../../../perf/tests/shell/ftrace.sh"))
			return nil
		},
	})
}

// TestClientsDocument runs the commands of docs/clients.md in cells.
func TestClientsDocument(t *testing.T) {
	if os.Getenv("FTRACELAB_CLIENTS") == "" {
		t.Skip("FTRACELAB_CLIENTS is not set: it asks for runs of trace-cmd and perf")
	}
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ran := 0
	for i, block := range strings.Split(string(text), "```client\n") {
		if i == 0 {
			continue
		}
		commands, _, _ := strings.Cut(block, "```")
		for line := range strings.Lines(commands) {
			words, err := shell.Fields(line, nil)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if words[0] != "ftracelab" {
				words = append([]string{"ftracelab", "exec", "--"}, words...)
			}
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%.2000s", line, err, out)
			}
			ran++
		}
	}
	if ran < 10 {
		t.Errorf("only %d commands in docs/clients.md", ran)
	}
}

// serial runs one script after the other: each has a machine that follows the clock
// on the wall, and would slow the others down.
type serial struct{ *testing.T }

func (serial) Parallel() {}

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

func (s serial) Verbose() bool { return testing.Verbose() }

// need fails a script unless the programs it names are installed.
func need(ts *testscript.TestScript, _ bool, args []string) {
	for _, program := range args {
		if _, err := exec.LookPath(program); err != nil {
			ts.Fatalf("this script needs %s: %v", program, err)
		}
	}
}

// tally checks of files that trace-cmd recorded that they hold each record that the
// statistics of the buffers count, that none was lost, and that there are some.
func tally(ts *testscript.TestScript, _ bool, args []string) {
	for _, path := range args {
		f, err := tracedat.Open(ts.MkAbs(path), nil)
		ts.Check(err)
		total := uint64(0)
		for i := range f.Buffers {
			if b := &f.Buffers[i]; len(b.CPUs) > 0 {
				total += tallyBuffer(ts, path, f, b)
			}
		}
		ts.Check(f.Close())
		ts.Logf("%s: %d records", path, total)
		if total == 0 {
			ts.Fatalf("%s: not a record", path)
		}
	}
}

func tallyBuffer(ts *testscript.TestScript, path string, f *tracedat.File, b *tracedat.Buffer) (total uint64) {
	c, err := capture.OpenFS(f.Folder(b), ".", capture.Options{})
	ts.Check(err)
	count := map[int]uint64{}
	var r record.Record
	for err = c.Next(&r); err == nil; err = c.Next(&r) {
		if r.Kind == record.Lost {
			ts.Fatalf("%s: buffer %q: CPU %d: records are missing", path, b.Name, r.CPU)
		}
		count[r.CPU]++
		total++
	}
	if !errors.Is(err, io.EOF) {
		ts.Fatalf("%s: %v", path, err)
	}
	stats := c.Info().Stats
	if len(stats) != len(b.CPUs) {
		ts.Fatalf("%s: buffer %q: statistics of %d CPUs, pages of %d", path, b.Name, len(stats), len(b.CPUs))
	}
	for _, s := range stats {
		if s.ReadEvents != count[s.CPU] || s.Entries+s.Overrun+s.CommitOverrun+s.DroppedEvents != 0 {
			ts.Fatalf("%s: buffer %q: CPU %d: %d records, but its statistics are %+v", path, b.Name, s.CPU, count[s.CPU], s)
		}
	}
	ts.Check(c.Close())
	return total
}
