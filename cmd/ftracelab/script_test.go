package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"mvdan.cc/sh/v3/shell"
)

func TestMain(m *testing.M) {
	// A program built with the race detector sleeps for a second before it exits,
	// which is as long as the supervisor of a mount waits for it.
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){
		"ftracelab": transcribed, "escapes": tryEscapes, "mapring": mapRing, "workthreads": workThreads, "earlythread": earlyThread,
	})
}

// TestSessions replays docs/sessions: each is a page of documentation and a
// test at once. What readers see of it, docs/sessions/NAME.md, is what it prints.
func TestSessions(t *testing.T) {
	dir, files := "../../docs/sessions", []string(nil)
	if testing.Short() { // those with commands of all kinds
		dir = ""
		for _, name := range []string{"estimate", "instances", "report", "tracedat"} {
			files = append(files, "../../docs/sessions/"+name+".txtar")
		}
	}
	sample, err := filepath.Abs("../../workload/program/testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcripts{dir: t.TempDir()}
	t.Cleanup(func() {
		if !t.Failed() {
			slices.Sort(tr.ran)
			checkSessionPages(t, tr.dir, tr.ran)
		}
	})
	testscript.Run(t, testscript.Params{
		Setup: func(env *testscript.Env) error {
			env.Setenv("SAMPLE", sample)
			env.Setenv("COMPAT", filepath.Join(filepath.Dir(sample), "compat.elf"))
			return tr.setup(env)
		},
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *updateSessions,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"damage": damage, "status": status},
	})
}

// status runs a program that has to end with a status: status N PROGRAM [ARG]….
func status(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM [ARG]…")
	}
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

// damage inverts the byte of a file at an offset.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: damage FILE OFFSET")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at >= len(data) {
		ts.Fatalf("%s has only %d bytes", args[0], len(data))
	}
	data[at] ^= 0xff
	ts.Check(os.WriteFile(path, data, 0o644))
}

// TestDocumentedCommands runs every ftracelab command of the README and of
// docs: lines of a ```sh block that begin with "go run ./cmd/ftracelab". A
// file they name that the reader would have to bring is made up.
func TestDocumentedCommands(t *testing.T) {
	const prefix = "go run ./cmd/ftracelab "
	t.Chdir("../..")
	docs := []string{"README.md"}
	ran := 0
	for _, doc := range docs {
		scratch := t.TempDir()
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		block := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if lang, fence := strings.CutPrefix(line, "```"); fence {
				if block == "" {
					block = lang + "."
				} else {
					block = ""
				}
				continue
			}
			command, is := strings.CutPrefix(line, prefix)
			if block != "sh." || !is {
				continue
			}
			ran++
			t.Run(command, func(t *testing.T) { runDocumented(t, command, scratch) })
		}
	}
	if ran == 0 {
		t.Error("the README shows no command")
	}
}

// runDocumented runs a command line as a shell would split it; /tmp is a scratch
// folder that the commands of one document share.
func runDocumented(t *testing.T, command, scratch string) {
	command, _, _ = strings.Cut(command, " #")
	args, err := shell.Fields(command, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		if strings.HasPrefix(arg, "/tmp/") {
			args[i] = scratch + "/" + strings.TrimPrefix(arg, "/tmp/")
		}
	}
	var out, errs bytes.Buffer
	if status := run(context.Background(), args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Errorf("status %d\n%s%s", status, out.String(), errs.String())
	}
	if out.Len() == 0 && errs.Len() == 0 {
		if _, err := os.Stat(args[len(args)-1]); err != nil { // what prints nothing has written a file
			t.Errorf("printed nothing, and %v", err)
		}
	}
}
