package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"ftracelab/budget"
	"ftracelab/internal/plain"
	"ftracelab/report"
	"ftracelab/report/summary"
)

// Exit statuses, those of ftracelab.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitSkipped = 3 // the operation was done, but something was left out, which is then told
)

const usage = `Usage: fleet -output OUT.ftls [flag]… PATTERN…

fleet makes a summary of each capture that matches a pattern, as ftracelab estimate
--summary does, adds them as ftracelab merge does, writes the sum and prints the answer.
A file that is a summary already is added as it is. Beside the sum, OUT.ftls.files.json
tells how many files there were and what was left out; the exit status is then 3.

A pattern is a path in which * ? [a-z] stand for other characters, on this machine's
disks or as gs://BUCKET/PATH. Quote it, so that the shell leaves it alone.

`

// options are the flags of fleet.
type options struct {
	Output       string
	Memory       int64
	KeepGoing    bool
	Folders      bool
	json         bool
	logLevel     string
	bufferSizeKB int
	bits         int
}

func main() {
	var o options
	own := o.flags(flag.CommandLine)
	flag.Usage = func() { printUsage(os.Stderr, own) }
	flag.Parse()
	beam.Init() // a worker of an engine ends here
	os.Exit(run(context.Background(), o, flag.Args(), os.Stdout, os.Stderr))
}

// flags declares the flags, and returns them in a set of their own. Those of Beam are
// declared by its packages.
func (o *options) flags(all *flag.FlagSet) (own *flag.FlagSet) {
	own = flag.NewFlagSet("fleet", flag.ContinueOnError)
	o.Memory = budget.Default
	own.StringVar(&o.Output, "output", "", "write the sum to this `file`, which the workers and this program both see")
	own.BoolVar(&o.json, "json", false, "print the answer as JSON")
	own.BoolVar(&o.KeepGoing, "keep-going", false, "leave damaged parts of a capture out, not the whole capture")
	own.BoolVar(&o.Folders, "folders", false, "a machine has the name of its capture's folder, not of the file")
	own.Var((*size)(&o.Memory), "memory", "memory that reading a capture, or a sum, may take, as 256M")
	own.IntVar(&o.bufferSizeKB, "buffer-size-kb", 1408, "buffer_size_kb: the buffer of each CPU, in the answer")
	own.IntVar(&o.bits, "bits", 0, "ftrace_stackmap.bits in the answer, 10 to 18 (default: as suits 99 % of the machines)")
	own.StringVar(&o.logLevel, "log-level", "warn", "of Beam's messages: debug, info, warn, error")
	own.VisitAll(func(f *flag.Flag) { all.Var(f.Value, f.Name, f.Usage) })
	return own
}

func printUsage(w io.Writer, own *flag.FlagSet) {
	fmt.Fprint(w, usage)
	own.SetOutput(w)
	own.PrintDefaults()
	fmt.Fprint(w, `
Beam's flags choose the engine; README.md shows them for each:
  -runner NAME -endpoint HOST:PORT -environment_type TYPE …
`)
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// run does what main does and gives the exit status.
func run(ctx context.Context, o options, patterns []string, stdout, stderr io.Writer) int {
	list, err := o.run(ctx, patterns, stdout)
	for _, p := range list.Problems {
		fmt.Fprintln(stderr, plain.Lines("fleet: "+p.Problem))
	}
	if more := list.Damaged - len(list.Problems); more > 0 {
		fmt.Fprintf(stderr, "fleet: and %d files more\n", more)
	}
	if list.Damaged > 0 {
		fmt.Fprintf(stderr, "fleet: of %d files %d have problems, and %d were left out\n", list.Files, list.Damaged, list.Skipped)
	}
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(stderr, plain.Lines(fmt.Sprintf("fleet: %v", err)))
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, plain.Lines(fmt.Sprintf("fleet: %v", err)))
		return exitFailed
	case list.Damaged > 0:
		return exitSkipped
	}
	return 0
}

func (o *options) run(ctx context.Context, patterns []string, stdout io.Writer) (list fileList, err error) {
	if err := o.check(patterns); err != nil {
		return list, usageError{err}
	}
	log.SetupLogging(o.logLevel, "text")
	p, s := beam.NewPipelineWithRoot()
	build(s, patterns, *o)
	if err := beamx.Run(ctx, p); err != nil {
		return list, err
	}
	if *jobopts.Async {
		return list, nil // whoever waits for the job finds its files
	}
	return o.answer(ctx, stdout)
}

// check looks for mistakes in the command line before anything is started.
func (o *options) check(patterns []string) error {
	switch {
	case len(patterns) == 0:
		return errors.New("name the captures: fleet -output OUT.ftls PATTERN…")
	case o.Output == "":
		return errors.New("-output is missing: where does the sum go?")
	case o.bufferSizeKB < 1:
		return fmt.Errorf("-buffer-size-kb %d: want 1 to %d", o.bufferSizeKB, report.MaxBufferSizeKB)
	}
	answer := report.Options{Bits: o.bits, BufferSizeKB: o.bufferSizeKB}
	if err := answer.Validate(); err != nil {
		return err
	}
	for _, pattern := range patterns {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return fmt.Errorf("%s: %w", pattern, err)
		}
	}
	for _, path := range append(slices.Clip(patterns), o.Output) {
		fs, err := filesystem.New(context.Background(), path)
		if err != nil {
			return err
		}
		fs.Close()
	}
	return nil
}

// answer reads what the run has written and prints the answer.
func (o *options) answer(ctx context.Context, stdout io.Writer) (list fileList, err error) {
	text, err := readFile(ctx, o.Output+filesSuffix)
	if err != nil {
		return list, fmt.Errorf("the job is done, and what it wrote is not here: %w", err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return list, fmt.Errorf("%s: %w", o.Output+filesSuffix, err)
	}
	if list.Skipped == list.Files {
		return list, errors.New("nothing is left, and no summary was written")
	}
	file, err := readFile(ctx, o.Output)
	if err != nil {
		return list, err
	}
	s, err := summary.Decode(bytes.NewReader(file), budget.New(o.Memory))
	if err != nil {
		return list, fmt.Errorf("%s: %w", o.Output, err)
	}
	d := report.Document{Fleets: []*report.Fleet{report.EstimateFleet(s, report.FleetOptions{
		Path: o.Output, BufferSizeKB: o.bufferSizeKB, Bits: o.bits,
	})}}
	if o.json {
		return list, d.WriteJSON(stdout)
	}
	return list, d.WriteText(stdout, report.TextOptions{})
}
