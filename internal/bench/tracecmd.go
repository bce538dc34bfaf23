package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// traces are files that ftracelab makes, and that both ftracelab and trace-cmd print.
type traces struct {
	ctx       context.Context
	ftracelab string
	dir       string // where the files are; "": there is no folder yet
}

// Each round starts both programs anew, so what they read before the first line counts
// as well.
const processRounds = 5

// Runs of the simulated machine, as arguments of ftracelab run.
var (
	functions = []string{"mix", "--duration", "5s", "--set", "current_tracer=function"}
	allEvents = []string{"busy", "--duration", "2500ms", "--set", "set_event=*:*"}
)

// comparison makes a row for printing the trace of a run: a file of version 6, whose
// pages can be read in place, or a packed file of version 7.
func (t *traces) comparison(id, what string, goal float64, run []string) comparison {
	c := comparison{id: id, what: what, peer: "trace-cmd report", goal: goal, rounds: processRounds}
	switch _, err := exec.LookPath("trace-cmd"); {
	case t.ftracelab == "":
		c.missing = "no ftracelab to run"
	case err != nil:
		c.missing = "trace-cmd is not installed"
	}
	name, entries := "", 0
	c.ours = func() (_ runner, err error) {
		if name, err = t.record(id, run); err != nil {
			return nil, err
		}
		var text lines
		_, err = t.run(&text, "trace-cmd", "report", name)
		entries = int(text) - 1 // the first line says how many CPUs there are
		return t.runner(&entries, t.ftracelab, "report", "--as", "trace", name), err
	}
	c.theirs = func() (runner, error) { return t.runner(&entries, "trace-cmd", "report", name), nil }
	return c
}

// record makes the file. A packed file has the form that trace-cmd record writes by
// default. trace-cmd packs it, because files of another packer unpack faster.
func (t *traces) record(id string, run []string) (name string, err error) {
	if err := t.makeDir(); err != nil {
		return "", err
	}
	base, form, _ := strings.Cut(id, "/")
	plain := filepath.Join(t.dir, base+".dat")
	if _, err := os.Stat(plain); err != nil {
		args := append([]string{"run", "--file-version", "6", "--set", "buffer_size_kb=65536", "--out", plain}, run...)
		if _, err := t.run(io.Discard, t.ftracelab, args...); err != nil {
			return "", err
		}
	}
	if form == "" {
		return plain, nil
	}
	packed := filepath.Join(t.dir, base+"."+form+".dat")
	_, err = t.run(io.Discard, "trace-cmd", "convert", "-i", plain, "-o", packed)
	return packed, err
}

// makeDir makes the folder of the files, if there is none yet.
func (t *traces) makeDir() (err error) {
	if t.dir == "" {
		t.dir, err = os.MkdirTemp("", "ftracelab-bench")
	}
	return err
}

func (t *traces) remove() error {
	if t.dir == "" {
		return nil
	}
	return os.RemoveAll(t.dir)
}

// runner makes a runner that gives the CPU time of a process and the number of entries.
func (t *traces) runner(entries *int, name string, args ...string) runner {
	return func(int) (time.Duration, int, error) {
		took, err := t.run(io.Discard, name, args...)
		return took, *entries, err
	}
}

// run runs a program to its end and gives the CPU time it took.
func (t *traces) run(stdout io.Writer, name string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(t.ctx, name, args...)
	if stdout != io.Discard { // without Stdout, the process writes to the null device
		cmd.Stdout = stdout
	}
	err := cmd.Run()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", cmd, errors.Join(err, t.ctx.Err()))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// lines counts the lines that are written to it.
type lines int

func (l *lines) Write(text []byte) (int, error) {
	*l += lines(bytes.Count(text, []byte("\n")))
	return len(text), nil
}
