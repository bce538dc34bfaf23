//go:build !js

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"ftracelab/capture"
	"ftracelab/machine"
	"ftracelab/report"
	"ftracelab/report/experiment"
	"ftracelab/report/html"
	"ftracelab/report/model"
	"ftracelab/tracer/record"
)

// experimentFlags are the flags of experiment.
type experimentFlags struct {
	memory *memoryFlag

	list      bool
	captures  []string
	models    []string
	scenarios []string
	set       []string
	duration  time.Duration
	designs   string
	seeds     int
	bufferKB  []int
	subbuf    []int
	metrics   []string

	jobs   int
	keep   string
	format string
	html   string
}

func experimentCommand(memory *memoryFlag) *cobra.Command {
	f := experimentFlags{memory: memory}
	cmd := &cobra.Command{
		Use:   "experiment [SPEC]",
		Short: "Compare designs over workloads and seeds",
		Long: `experiment writes each workload as each design would, for each seed and each size of
buffer, and prints the means with their 95 % confidence intervals.

SPEC is a YAML file, or the name of an experiment that comes with ftracelab (--list).
A path in it is relative to the file. Flags take the place of what it says; without a
SPEC they say it all:

  title: kmem on two machines
  workloads:
    - {name: web, capture: web/}
    - {name: web later, model: web.yaml, duration: 10s}
    - {model: network-server}
    - {name: simulated, scenario: mix, set: [set_event=kmem, options/stacktrace=1], duration: 2s}
    - {scenario: mix, instances: [a, b], instance: a, set: [instances/a/set_event=sched,
       instances/a/options/stacktrace=1], stackmap: "v4:bits=10", duration: 1s}
  designs: [full-stacks, "stackmap:bits=10", "stackmap:bits=14"]
  seeds: [1, 2, 3]
  buffer-size-kb: [1408, 8192]

A workload is a capture, a model or a scenario. A model has a duration. A scenario also has
cpus (4), set (writes to tracefs files, FILE=VALUE), instances (made before set is written),
instance (the one of them whose trace is read) and stackmap (the map of its kernel:
documented, v2 or v4, and fields; what it records as ids is read back as stacks).

The metrics:

` + metricsHelp() + `
With --keep DIR the outcome of each finished trial is kept there, and an experiment that
was interrupted goes on where it was.`,
		Example: `  ftracelab experiment --list
  ftracelab experiment bits
  ftracelab experiment --capture DIR --designs full-stacks,stackmap:bits=10 --seeds 5`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return listExperiments(cmd.OutOrStdout())
			}
			if err := f.run(cmd, args); err != nil {
				return fmt.Errorf("experiment: %w", err)
			}
			return nil
		},
	}
	cmd.AddCommand(returnHooksCommand(), userStacksCommand(memory))
	fl := cmd.Flags()
	fl.BoolVar(&f.list, "list", false, "list the experiments that come with ftracelab, and what they ask")
	fl.StringArrayVar(&f.captures, "capture", nil, "a capture as a workload; those that come with ftracelab are "+strings.Join(capture.Examples(), ", "))
	fl.StringArrayVar(&f.models, "model", nil, "a model of a capture as a workload: a file, or a name of ftracelab model --list")
	fl.StringArrayVar(&f.scenarios, "scenario", nil, "a scenario of the simulated machine as a workload")
	fl.StringArrayVar(&f.set, "set", nil, "of the scenarios: write VALUE to a tracefs file before the run: FILE=VALUE")
	fl.DurationVar(&f.duration, "duration", 0, "of the scenarios and models: simulated time to run (default 1s; for a model, as many events as it was learned from)")
	fl.StringVar(&f.designs, "designs", "", "designs to compare, with commas between, the first is the base: "+strings.Join(record.DesignNames(), ", ")+"; see estimate --help")
	fl.IntVar(&f.seeds, "seeds", 0, "how many seeds, from 1 on")
	fl.IntSliceVar(&f.bufferKB, "buffer-size-kb", nil, "sizes of the buffer of each CPU")
	fl.IntSliceVar(&f.subbuf, "subbuf-size", nil, "sizes of a sub-buffer in bytes")
	fl.StringSliceVar(&f.metrics, "metrics", nil, "columns of the table")
	fl.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "trials that run at once")
	fl.StringVar(&f.keep, "keep", "", "folder for the outcomes of finished trials")
	fl.StringVar(&f.format, "format", "table", "table, csv or json")
	fl.StringVar(&f.html, "html", "", "write a page that opens offline to this file")
	return cmd
}

func metricsHelp() string {
	var b strings.Builder
	for _, m := range experiment.Metrics() {
		fmt.Fprintf(&b, "  %-21s %s\n", m.Name, m.What)
	}
	return b.String()
}

// listExperiments writes the title of each experiment, and below it its question.
func listExperiments(w io.Writer) error {
	const indent = 17
	width := min(cmp.Or(columns(w), 100), 100)
	var b strings.Builder
	for _, name := range experiment.BuiltinNames() {
		s, err := experiment.Builtin(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%-*s%s\n", indent, name, s.Title)
		writeFolded(&b, s.Question, indent, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *experimentFlags) run(cmd *cobra.Command, args []string) (err error) {
	ctx := cmd.Context()
	defer f.memory.limit()()
	spec, dir, err := f.spec(args)
	if err != nil {
		return usageError{err}
	}
	if err := spec.Validate(); err != nil {
		return usageError{err}
	}
	write, err := f.writer()
	if err != nil {
		return usageError{err}
	}
	if f.jobs < 1 {
		return usageError{fmt.Errorf("--jobs %d: want 1 or more", f.jobs)}
	}
	r := experiment.Runner{Jobs: f.jobs, Progress: progressOf(cmd.ErrOrStderr())}
	r.Open = func(ctx context.Context, w experiment.Workload, seed uint32) (*experiment.Source, error) {
		switch {
		case w.Scenario != "":
			return f.openScenario(ctx, w, seed)
		case w.Model != "":
			return f.openModel(w, dir, seed)
		}
		return f.openCapture(ctx, w, dir)
	}
	var page *outputFile
	if f.html != "" {
		if page, err = createOutput(ctx, f.html, cmd.OutOrStdout(), args...); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, page.discard()) }()
	}
	if f.keep != "" {
		if r.Store, err = experiment.OpenStore(f.keep); err != nil {
			return err
		}
	}
	table, err := r.Run(ctx, spec)
	if err != nil {
		return err
	}
	if spec.Answer != "" {
		if err := table.Explain(); err != nil {
			return err
		}
	}
	if page != nil {
		if err := writeOutput(page, func(w *os.File) error { return html.WriteExperiment(w, table) }); err != nil {
			return err
		}
	}
	return write(table, cmd.OutOrStdout())
}

// writer is how the table is printed.
func (f *experimentFlags) writer() (func(*experiment.Table, io.Writer) error, error) {
	switch f.format {
	case "table":
		return (*experiment.Table).WriteText, nil
	case "csv":
		return (*experiment.Table).WriteCSV, nil
	case "json":
		return (*experiment.Table).WriteJSON, nil
	}
	return nil, fmt.Errorf("--format %s: want table, csv or json", f.format)
}

// spec reads the spec and puts the flags in. dir is where its paths begin.
func (f *experimentFlags) spec(args []string) (s experiment.Spec, dir string, err error) {
	switch {
	case len(args) == 0 && len(f.captures)+len(f.models)+len(f.scenarios) == 0:
		return s, "", fmt.Errorf("want a SPEC, or --capture, --model or --scenario; SPEC is a file or one of %s", strings.Join(experiment.BuiltinNames(), ", "))
	case len(args) == 0:
		s.Title = "designs over workloads"
		s.Designs = []string{"full-stacks", "stackmap", "no-stacks"}
	case slices.Contains(experiment.BuiltinNames(), args[0]):
		if s, err = experiment.Builtin(args[0]); err != nil {
			return s, "", err
		}
	default:
		text, err := readSpec(args[0])
		if err != nil {
			return s, "", err
		}
		if s, err = experiment.Parse(text); err != nil {
			return s, "", fmt.Errorf("%s: %w", args[0], err)
		}
		dir = filepath.Dir(args[0])
	}
	return f.override(s, dir)
}

// maxSpec bounds a spec's file.
const maxSpec = 1 << 20

func readSpec(name string) ([]byte, error) {
	text, err := readText(name, "a spec", maxSpec)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w, and no experiment of that name; there are %s", err, strings.Join(experiment.BuiltinNames(), ", "))
	}
	return text, err
}

// override puts the flags in the place of what the spec says.
func (f *experimentFlags) override(s experiment.Spec, dir string) (experiment.Spec, string, error) {
	if len(f.captures)+len(f.models)+len(f.scenarios) > 0 {
		s.Workloads, s.Answer, dir = nil, "", ""
	}
	for _, name := range f.captures {
		s.Workloads = append(s.Workloads, experiment.Workload{Capture: name})
	}
	for _, name := range f.models {
		s.Workloads = append(s.Workloads, experiment.Workload{Model: name, Duration: experiment.Duration(f.duration)})
	}
	for _, name := range f.scenarios {
		s.Workloads = append(s.Workloads, experiment.Workload{Scenario: name, Set: f.set, Duration: experiment.Duration(f.duration)})
	}
	switch {
	case len(f.scenarios) == 0 && len(f.set) > 0:
		return s, "", errors.New("--set is for --scenario")
	case len(f.models)+len(f.scenarios) == 0 && f.duration != 0:
		return s, "", errors.New("--duration is for --scenario and --model")
	case f.seeds < 0:
		return s, "", fmt.Errorf("--seeds %d is negative", f.seeds)
	}
	if f.designs != "" {
		designs, err := record.ParseDesigns(f.designs, 0, 1)
		if err != nil {
			return s, "", fmt.Errorf("--designs: %w", err)
		}
		s.Designs, s.Answer = nil, ""
		for _, d := range designs {
			s.Designs = append(s.Designs, d.Name)
		}
	}
	if f.seeds > 0 {
		s.Seeds = nil
		for seed := range min(f.seeds, 1<<20) { // the spec's own bound is lower
			s.Seeds = append(s.Seeds, uint32(seed)+1)
		}
	}
	if f.bufferKB != nil {
		s.BufferSizeKB = f.bufferKB
	}
	if f.subbuf != nil {
		s.SubbufSize = f.subbuf
	}
	if f.metrics != nil {
		s.Metrics = f.metrics
	}
	if len(f.bufferKB)+len(f.subbuf) > 0 {
		s.Answer = "" // it may ask for a size that is not there
	}
	return s, dir, nil
}

func (f *experimentFlags) openCapture(ctx context.Context, w experiment.Workload, dir string) (*experiment.Source, error) {
	opt := capture.Options{Context: ctx, Memory: f.memory.budget()}
	if slices.Contains(capture.Examples(), w.Capture) {
		c, err := capture.OpenNamedExample(w.Capture, opt)
		return sourceOf(c, opt, err)
	}
	c, err := capture.Open(from(dir, w.Capture), opt)
	return sourceOf(c, opt, err)
}

// from is a path that a spec in dir names.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// openModel draws records from a model.
func (f *experimentFlags) openModel(w experiment.Workload, dir string, seed uint32) (*experiment.Source, error) {
	path := w.Model
	if !isShipped(path) {
		path = from(dir, path)
	}
	memory := f.memory.budget()
	src, err := openModel(path, model.RunOptions{Seed: uint64(seed), Duration: uint64(w.Duration)}, memory)
	if err != nil {
		return nil, err
	}
	return &experiment.Source{
		Source: src, Close: func() error { return nil },
		Options: report.Options{Path: path, Format: "model", Memory: memory},
	}, nil
}

func sourceOf(c *capture.Capture, opt capture.Options, err error) (*experiment.Source, error) {
	if err != nil {
		return nil, err
	}
	info := c.Info()
	return &experiment.Source{
		Source: c, Close: c.Close,
		Options: report.Options{Path: info.Path, Format: info.Format, Types: c.Types(), Symbols: c, Memory: opt.Memory},
	}, nil
}

// scenarioBufferKB is the buffer of a simulated CPU, so large that a run of a few seconds
// loses nothing; what is lost is told.
const scenarioBufferKB = 65536

// openScenario runs the simulated machine and reads what it traced as a capture.
func (f *experimentFlags) openScenario(ctx context.Context, w experiment.Workload, seed uint32) (*experiment.Source, error) {
	flags := labFlags{cpus: w.CPUs, seed: uint64(seed), preset: cmp.Or(w.Stackmap, "none")}
	dir, err := flags.trace(ctx, w)
	if err != nil {
		return nil, err
	}
	opt := capture.Options{Context: ctx, Memory: f.memory.budget(), Shown: w.Name}
	c, err := capture.OpenFS(dir, ".", opt)
	return sourceOf(c, opt, err)
}

// trace runs a scenario on a machine with f's kernel, and returns the folder of what the
// workload's instance traced.
func (f *labFlags) trace(ctx context.Context, w experiment.Workload) (fs.FS, error) {
	size := fmt.Sprintf("buffer_size_kb=%d", scenarioBufferKB)
	set := []string{size}
	for _, name := range w.Instances {
		set = append(set, "instances/"+name+"/"+size)
	}
	flags := *f
	flags.instance, flags.set = w.Instances, append(set, w.Set...)
	if flags.cpus == 0 {
		flags.cpus = defaultCPUs
	}
	l, err := flags.build(w.Scenario)
	if err != nil {
		return nil, err
	}
	if err := l.run(ctx, machine.Time(time.Duration(w.Duration).Nanoseconds())); err != nil {
		return nil, err
	}
	of := l.ft.Top()
	for _, tr := range l.ft.Instances() {
		tr.Stop()
		if tr.Name() == w.Instance {
			of = tr
		}
	}
	files, err := l.captureFilesOf(of, "")
	if err != nil {
		return nil, err
	}
	archive := new(txtar.Archive)
	for _, file := range files {
		archive.Files = append(archive.Files, txtar.File{Name: file.name, Data: file.data})
	}
	return txtar.FS(archive)
}

// progressOf tells on a terminal how far an experiment is and how long the rest may
// take. Trials of which the outcome was there before take no time.
func progressOf(w io.Writer) func(done, all int, before bool) {
	p := newProgress(w)
	if p == nil {
		return nil
	}
	kept := 0
	return func(done, all int, before bool) {
		if before {
			kept++
		}
		part := 0.0
		if all > kept {
			part = float64(done-kept) / float64(all-kept)
		}
		p.say(func() string { return fmt.Sprintf("%d of %d trials", done, all) }, part)
		if done == all {
			p.end()
		}
	}
}
