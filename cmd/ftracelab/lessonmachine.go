package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"ftracelab/lab/lessons"
	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
)

// What the commands of one lesson or of one answer may do. Sessions need a small part of
// it; an endless loop that somebody hands in comes to its end.
const (
	lessonCommands = 5_000
	lessonTime     = 20 * machine.Second
	lessonOutput   = 4 << 20
	// A loop of assignments runs no command and takes no simulated time. What is
	// graded does not depend on this limit, only whether the grading ends.
	lessonLimit = 30 * time.Second
)

// lessonMachine is a lessons.Machine: a simulated machine with a shell whose output is kept.
type lessonMachine struct {
	sh *shell.Shell

	mu       sync.Mutex // the commands of a pipeline run beside each other
	out      bytes.Buffer
	commands int
	slept    time.Duration
	end      context.CancelCauseFunc // of the script that runs
}

// bootLesson is the lessons.Boot of this program.
func bootLesson(flags []string) (lessons.Machine, error) {
	f := shellFlags{memory: shell.DefaultMemory}
	fl := pflag.NewFlagSet("boot", pflag.ContinueOnError)
	f.lab.register(fl)
	fl.StringVar(&f.scenario, "scenario", "", "")
	if err := fl.Parse(flags); err != nil {
		return nil, err
	}
	f.lab.wait = shell.WaitForTime
	l, err := f.lab.build(f.scenario)
	if err != nil {
		return nil, err
	}
	m := &lessonMachine{}
	cfg := l.shellConfig(f.lab.cpus)
	cfg.Stdout, cfg.Stderr = m, m
	cfg.Seed, cfg.Memory = f.lab.seed, int(f.memory)
	cfg.Command = m.command
	sleep := cfg.Sleep
	cfg.Sleep = func(ctx context.Context, d time.Duration) error {
		if err := m.sleep(d); err != nil {
			return err
		}
		return sleep(breathing(ctx), d)
	}
	m.sh, err = shell.New(cfg)
	return m, err
}

// Run is that of a lessons.Machine.
func (m *lessonMachine) Run(ctx context.Context, script string) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, lessonLimit, errors.New("the commands do not end"))
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	m.mu.Lock()
	m.out.Reset()
	m.end = end
	m.mu.Unlock()
	_, err := m.sh.Run(breathing(ctx), strings.NewReader(script), "sh")
	if why := context.Cause(ctx); why != nil {
		err = why
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.String(), err
}

// Write takes what the commands print.
func (m *lessonMachine) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.out.Len()+len(p) > lessonOutput {
		err := fmt.Errorf("the commands print more than %d bytes", lessonOutput)
		m.end(err)
		return 0, err
	}
	return m.out.Write(p)
}

// command is called before each command.
func (m *lessonMachine) command([]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.commands++; m.commands > lessonCommands {
		m.end(fmt.Errorf("more than %d commands", lessonCommands))
	}
}

// sleep is called before simulated time passes.
func (m *lessonMachine) sleep(d time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d < 0 || d > time.Duration(lessonTime)-m.slept {
		err := errors.New("the commands sleep longer than 20 simulated seconds")
		m.end(err)
		return err
	}
	m.slept += d
	return nil
}
