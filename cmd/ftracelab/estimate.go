//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	"ftracelab/capture/savings"
	"ftracelab/report"
	"ftracelab/report/html"
	"ftracelab/report/model"
	"ftracelab/report/summary"
	"ftracelab/tracer/record"
)

// estimateFlags are the flags of estimate.
type estimateFlags struct {
	memory    *memoryFlag
	kernel    string
	format    string
	stackMap  string
	keepGoing bool
	instance  string
	frames    string
	json      bool
	html      string
	designs   string
	models    []string
	summary   string
	machine   string
	top       int
	cost      bool
	maxDrops  float64
	opt       report.Options
}

func estimateCommand(memory *memoryFlag) *cobra.Command {
	f := estimateFlags{memory: memory}
	cmd := &cobra.Command{
		Use:   "estimate [FILE|DIR]…",
		Short: "What would stackmap save on this capture?",
		Long: `estimate writes every event of a capture through the kernel's ring buffer, once
with full stacks and once through a stackmap, and counts the bytes on the pages.

A capture is the text of trace or trace_pipe, the output of perf script, folded
stacks, a trace.dat of trace-cmd, or a folder with per-CPU pages (cpuN.raw) and
their formats; gzip and zstd are undone, but not of a trace.dat. Without one, a capture of a real kernel that comes with
ftracelab is used. - is standard input. A FILE.yaml is a model of a capture, see
ftracelab model; --seed is then also that of what is drawn from it. --model NAME takes one of
the models of common loads that come with ftracelab, see ftracelab model --list.

--summary keeps of a capture what is needed to answer for full stacks, for a stackmap
of any size and for none. merge adds such summaries, and estimate answers from them,
for one machine or for many.

The fields of a design's map, as in --designs full-stacks,stackmap:bits=12,probes=8;
with user. before the key, those of a map of user stacks:

` + record.MapFields() + record.DesignFields() + `

--target-seconds, --max-drop-rate, --budget-kb, --instances, --unique-factor and
--rate ask what memory a goal takes, and what if; docs/capacity.md explains the
answers.`,
		Example: `  ftracelab estimate
  ftracelab estimate --html report.html perf.txt
  ftracelab estimate --model scheduler-storm
  ftracelab estimate --json --buffer-size-kb 4096 capture/
  ftracelab estimate --target-seconds 60 --max-drop-rate 1 capture/
  ftracelab estimate --budget-kb 32768 --instances 2 --rate 200000 capture/
  ftracelab estimate --summary web1.ftls --machine web1 trace.dat`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("max-drop-rate") {
				f.opt.Plan.MaxDropPct = &f.maxDrops
			}
			for _, name := range []string{"target-seconds", "budget-kb", "instances", "unique-factor", "rate"} {
				if fl := cmd.Flags().Lookup(name); fl.Changed && fl.Value.String() == "0" {
					return usageError{fmt.Errorf("--%s 0: want more than 0", name)}
				}
			}
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.kernel, "kernel", "", "folder with the kernel's formats_all, kallsyms and header_page")
	fl.StringVar(&f.format, "format", "", "what the files are: "+strings.Join(capture.Formats(), ", ")+" (default: found out)")
	fl.StringVar(&f.stackMap, "stack-map", "", stackMapUsage)
	fl.BoolVar(&f.keepGoing, "keep-going", false, "skip what is damaged, and count it")
	fl.StringVar(&f.instance, "instance", "", "of a trace.dat: the instance whose buffer is read")
	fl.StringVar(&f.frames, "frames", "", "of folded stacks: whose the frames are, "+strings.Join(capture.FrameKinds(), ", ")+" (default: mixed if any is marked _[k], else taken for kernel)")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.StringVar(&f.html, "html", "", "write a page that opens offline to this file; - prints it in place of the text")
	fl.StringVar(&f.summary, "summary", "", "write a summary of the capture to this file, for merge; - prints it in place of the text")
	fl.StringVar(&f.machine, "machine", "", "name of the machine in the summary (default: that of the capture's file or folder)")
	fl.StringVar(&f.designs, "designs", "", "designs to compare, with commas between, the first is the base: "+strings.Join(record.DesignNames(), ", ")+"; NAME:KEY=VALUE,… changes a field of its map (see below)")
	fl.StringArrayVar(&f.models, "model", nil, "a model in the place of a capture: a file, or a name of ftracelab model --list")
	fl.IntVar(&f.top, "top", 10, "stacks to list")
	fl.IntVar(&f.opt.BufferSizeKB, "buffer-size-kb", 1408, "buffer_size_kb: the buffer of each CPU")
	fl.IntVar(&f.opt.SubbufSize, "subbuf-size", 0, "bytes of a sub-buffer (default: as the capture has them, else 4096)")
	fl.BoolVar(&f.opt.NoOverwrite, "no-overwrite", false, "keep the oldest events (nooverwrite)")
	fl.IntVar(&f.opt.Bits, "bits", 0, "ftrace_stackmap.bits, 10 to 18: the map holds 2^bits stacks (default: as recommended for each map)")
	plan := &f.opt.Plan
	fl.Float64Var(&plan.TargetSeconds, "target-seconds", 0, "say how large buffers have to be to look back that far")
	fl.Float64Var(&f.maxDrops, "max-drop-rate", 0, "percent of the stacks that a map may have no room for: say how many bits it takes")
	fl.Uint64Var(&plan.BudgetKB, "budget-kb", 0, "say which design and buffer looks back furthest in so much memory, maps included")
	fl.IntVar(&plan.Instances, "instances", 1, "what if so many instances record this load?")
	fl.Float64Var(&plan.UniqueFactor, "unique-factor", 1, "what if there were so many times the unique stacks?")
	fl.Float64Var(&plan.Rate, "rate", 0, "what if there were so many events per second? (default: as in the capture)")
	fl.BoolVar(&f.cost, "cost", false, "count probes, atomic operations and words copied for each event")
	fl.Uint32Var(&f.opt.Seed, "seed", 1, "seed of the map's hash")
	return cmd
}

func (f *estimateFlags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, paths []string) (err error) {
	if f.opt.BufferSizeKB < 1 {
		return usageError{fmt.Errorf("--buffer-size-kb %d: want 1 to %d", f.opt.BufferSizeKB, report.MaxBufferSizeKB)}
	}
	defer f.memory.limit()()
	f.opt.TopStacks = f.top
	if f.top == 0 {
		f.opt.TopStacks = -1
	}
	if f.designs != "" {
		var err error
		if f.opt.Designs, err = record.ParseDesigns(f.designs, f.opt.Bits, f.opt.Seed); err != nil {
			return usageError{fmt.Errorf("--designs: %w", err)}
		}
	}
	if err := f.opt.Validate(); err != nil {
		return usageError{err}
	}
	if len(paths)+len(f.models) == 0 {
		paths = []string{""}
	}
	captures := len(paths)
	paths = append(slices.Clone(paths), f.models...)
	if err := f.checkSummary(len(paths), 0); err != nil {
		return usageError{err}
	}
	if f.html == stdoutName && f.json {
		return usageError{errors.New("--json and --html - both go to the standard output")}
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("estimate: %w", err)
		}
	}()
	var page *outputFile
	if f.html != "" {
		if page, err = createOutput(ctx, f.html, stdout, append(paths, f.kernel, f.stackMap)...); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, page.discard()) }()
	}
	var kept *outputFile
	if f.summary != "" {
		if kept, err = createOutput(ctx, f.summary, stdout, append(paths, f.kernel, f.stackMap)...); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, kept.discard()) }()
		f.opt.Summary, f.opt.Machine = new(summary.Summary), f.machine
	}
	var answers report.Document
	var skipped []error
	in := &peekable{in: stdin}
	for n, path := range paths {
		if n >= captures {
			r, err := f.ofModel(ctx, path)
			if err != nil {
				return err
			}
			answers.Reports = append(answers.Reports, r)
			continue
		}
		if isSummary(path, in) {
			if err := f.checkSummary(len(paths), 1); err != nil {
				return usageError{fmt.Errorf("%s: %w", path, err)}
			}
			fleet, err := f.fleet(ctx, in, path)
			if err != nil {
				return err
			}
			answers.Fleets = append(answers.Fleets, fleet)
			continue
		}
		r, left, err := f.one(ctx, in, stderr, path)
		if err != nil {
			return err
		}
		answers.Reports, skipped = append(answers.Reports, r), append(skipped, left)
	}
	if page != nil {
		if err := writeOutput(page, func(w *os.File) error { return html.Write(w, &answers) }); err != nil {
			return err
		}
	}
	if kept != nil {
		if errors.Join(skipped...) != nil {
			f.opt.Summary.Machines[0].Partial = 1
		}
		if err := writeSummary(kept, f.opt.Summary); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		err = answers.WriteJSON(stdout)
	case f.html != stdoutName && f.summary != stdoutName:
		err = answers.WriteText(stdout, report.TextOptions{Width: columns(stdout), Work: f.cost})
	}
	if left := errors.Join(skipped...); err == nil && left != nil {
		return skippedError{left}
	}
	return err
}

// ofModel makes the estimate for as many events as a model was learned from.
func (f *estimateFlags) ofModel(ctx context.Context, path string) (*report.Report, error) {
	memory := f.memory.budget()
	src, err := openModel(path, model.RunOptions{Seed: uint64(f.opt.Seed)}, memory)
	if err != nil {
		return nil, err
	}
	o := f.opt
	o.Memory, o.Path, o.Format = memory, path, "model"
	return report.Estimate(ctx, src, o)
}

// one makes the estimate for one capture; an empty path stands for the embedded
// example. skipped tells what was left out with --keep-going.
func (f *estimateFlags) one(ctx context.Context, stdin io.Reader, stderr io.Writer, path string) (r *report.Report, skipped, err error) {
	if isModel(path) && f.format == "" {
		r, err := f.ofModel(ctx, path)
		return r, nil, err
	}
	progress := newProgress(stderr)
	defer progress.end()
	o := savings.Options{
		Capture: capture.Options{
			Context: ctx, Kernel: f.kernel, Format: f.format, KeepGoing: f.keepGoing, Instance: f.instance,
			StackMap: f.stackMap, Frames: f.frames,
		},
		Report: f.opt, Memory: f.memory.bytes,
		Watch: func(c *capture.Capture, read *atomic.Int64) record.Source {
			return &watched{Capture: c, progress: progress, read: read, size: sizeOf(path)}
		},
	}
	return savings.Of(ctx, func(opt capture.Options) (*capture.Capture, error) { return openCapture(ctx, stdin, path, opt) }, readTwice(path), o)
}

// readTwice reports whether a capture can be read again; a stream cannot.
func readTwice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (info.IsDir() || info.Mode().IsRegular())
}
