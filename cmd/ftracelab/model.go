//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	"ftracelab/report"
	"ftracelab/report/model"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// modelFlags are the flags of model.
type modelFlags struct {
	memory   *memoryFlag
	output   string
	kernel   string
	format   string
	instance string
	frames   string
	about    string
	list     bool
	print    string
	progress *progress
}

func modelCommand(memory *memoryFlag) *cobra.Command {
	f := modelFlags{memory: memory}
	cmd := &cobra.Command{
		Use:   "model [CAPTURE]",
		Short: "Learn a compact model of a capture",
		Long: `model counts what a capture holds (how often each stack came and how many addresses
it has, how new stacks appeared, sizes of records by type of event, times between
events and tasks of each CPU) and writes that as YAML. The model holds no addresses,
no symbols and no content of records; names of tasks and of types of events it does.

estimate reads a model like a capture, and experiments take it as a workload:

  workloads:
    - {model: model.yaml, duration: 10s}

The records that are drawn from it are the same for the same seed.

Unless the capture comes from standard input, model reads it twice more, learns from its
first half, and lets that predict the second. What comes out is in the file under held-out; a model that
is more than 5 % off in bytes per event, or 10 % in different stacks, is warned of, and then
every second of 1,000 slices predicts the others, which tells whether the load changes with
time. Without a CAPTURE, the one that comes with ftracelab is used.

Models of common loads come with ftracelab: --list shows them, --print writes one. Their
names stand where the file of a model may stand: estimate --model NAME.`,
		Example: `  ftracelab model -o model.yaml capture/
  ftracelab estimate model.yaml
  ftracelab model --list
  ftracelab estimate --model scheduler-storm`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list || f.print != "" {
				if len(args) > 0 || f.list && f.print != "" {
					return usageError{errors.New("model: --list, --print and a CAPTURE exclude each other")}
				}
				if f.list {
					return listModels(cmd.OutOrStdout())
				}
				return f.printModel(cmd)
			}
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			if err := f.run(cmd, path); err != nil {
				return fmt.Errorf("model: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", stdoutName, "file to write; - is the standard output")
	fl.StringVar(&f.kernel, "kernel", "", "folder with the kernel's formats_all, kallsyms and header_page")
	fl.StringVar(&f.format, "format", "", "what the file is: "+strings.Join(capture.Formats(), ", ")+" (default: found out)")
	fl.StringVar(&f.instance, "instance", "", "of a trace.dat: the instance whose buffer is read")
	fl.BoolVar(&f.list, "list", false, "list the models that come with ftracelab")
	fl.StringVar(&f.print, "print", "", "write the model of that name that comes with ftracelab")
	fl.StringVar(&f.about, "about", "", "YAML file with title, source, kernel, date and lacks, to put into the model")
	fl.StringVar(&f.frames, "frames", "", "of folded stacks: whose the frames are, "+strings.Join(capture.FrameKinds(), ", "))
	return cmd
}

func (f *modelFlags) run(cmd *cobra.Command, path string) (err error) {
	ctx := cmd.Context()
	if isModel(path) {
		return usageError{fmt.Errorf("%s is a model already; want a capture", path)}
	}
	defer f.memory.limit()()
	about, err := f.readAbout()
	if err != nil {
		return err
	}
	f.progress = newProgress(cmd.ErrOrStderr())
	defer f.progress.end()
	out, err := createOutput(ctx, f.output, cmd.OutOrStdout(), path, f.kernel, f.about)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()
	m, err := f.learn(ctx, cmd.InOrStdin(), path)
	if err != nil {
		return err
	}
	m.About = about
	f.progress.end()
	for _, short := range m.Short() {
		complain(cmd.ErrOrStderr(), "model: %s", short)
	}
	if path != "-" {
		if err := f.holdOut(ctx, cmd.ErrOrStderr(), m, path); err != nil {
			return err
		}
	}
	if err := writeOutput(out, func(w *os.File) error { return m.Write(w) }); err != nil {
		return err
	}
	if f.output == stdoutName {
		return nil
	}
	return describe(cmd.OutOrStdout(), m)
}

func (f *modelFlags) learn(ctx context.Context, stdin io.Reader, path string) (m *model.Model, err error) {
	c, err := f.open(ctx, stdin, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return model.Learn(ctx, c, model.LearnOptions{From: filepath.Base(c.Info().Path), Comm: c.Comm, Memory: f.memory.budget()})
}

// holdOut notes in m how well the halves of its capture agree, and warns if they do not.
func (f *modelFlags) holdOut(ctx context.Context, stderr io.Writer, m *model.Model, path string) error {
	try := func(slices int) (*model.Misses, error) {
		h, err := m.HoldOut(ctx, slices, func() (record.Source, *event.Table, func() error, error) {
			c, err := f.open(ctx, nil, path)
			if err != nil {
				return nil, nil, nil, err
			}
			return c, c.Types(), c.Close, nil
		})
		if err != nil {
			return nil, err
		}
		misses := h.Misses()
		return &misses, nil
	}
	var err error
	l := &m.Learned
	if l.HeldOut, err = try(2); err == nil && len(l.Doubts()) > 0 {
		l.Slices, err = try(model.Slices)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.progress.end()
	if err != nil {
		complain(stderr, "model: how well it predicts is not known: %v", err)
	}
	for _, doubt := range l.Doubts() {
		complain(stderr, "model: %s", doubt)
	}
	return nil
}

// open opens the capture; an empty path stands for the embedded example.
func (f *modelFlags) open(ctx context.Context, stdin io.Reader, path string) (*watched, error) {
	opt := capture.Options{
		Context: ctx, Kernel: f.kernel, Format: f.format, Instance: f.instance, Frames: f.frames,
		Memory: f.memory.budget(), Read: new(atomic.Int64),
	}
	c, err := openCapture(ctx, stdin, path, opt)
	if err != nil {
		return nil, err
	}
	return &watched{Capture: c, progress: f.progress, read: opt.Read, size: sizeOf(path)}, nil
}

// describe says in a few lines what a model was learned from.
func describe(w io.Writer, m *model.Model) error {
	_, err := fmt.Fprintf(w, "a model of %s events on %d CPUs, %s different stacks\n",
		report.Group(m.Learned.Events), len(m.CPUs), report.Group(m.Kernel.Unique()+m.User.Unique()))
	for _, line := range predictions(&m.Learned) {
		if err == nil {
			_, err = fmt.Fprintln(w, line)
		}
	}
	return err
}

// percent is a miss without a sign before a zero that was rounded.
func percent(miss float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f %%", miss), "-0.0", "+0.0", 1)
}

// predictions says how well parts of a capture have predicted others.
func predictions(l *model.Learned) (lines []string) {
	for _, tried := range []struct {
		what string
		*model.Misses
	}{
		{"its first half predicts the second", l.HeldOut},
		{fmt.Sprintf("every second of %s slices predicts the others", report.Group(model.Slices)), l.Slices},
	} {
		if h := tried.Misses; h != nil {
			lines = append(lines, fmt.Sprintf("%s: bytes per event %s off with full stacks, %s with a stackmap; different stacks %s",
				tried.what, percent(h.FullStacks), percent(h.Stackmap), percent(h.Unique)))
		}
	}
	return lines
}
