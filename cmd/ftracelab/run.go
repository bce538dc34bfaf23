//go:build !js

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/tracedat"
	"ftracelab/workload"
)

type runFlags struct {
	lab      labFlags
	duration time.Duration
	out      string
	file     fileFlags
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO]",
		Short: "Run a simulated machine and keep what it traced",
		Long: `run simulates a machine and prints its trace, or with --out writes a capture
folder: the pages of each CPU as trace_pipe_raw gives them, formats, kallsyms,
statistics and the trace as text; estimate reads it. With --out NAME.dat it writes
a trace.dat with the buffers of all instances; trace-cmd and KernelShark read it.
So it does with --out -, the standard output, and into a FIFO or a device.

Scenarios: ` + strings.Join(scenarioNames(), ", ") + `.`,
		Example: `  ftracelab run --set current_tracer=function_graph --duration 2ms
  ftracelab run --set set_event=kmem:kmem_cache_alloc --set options/stacktrace=1 --out DIR
  ftracelab estimate DIR
  ftracelab run --instance foo --set instances/foo/set_event=sched --out x.dat`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			scenario := ""
			if len(args) > 0 {
				scenario = args[0]
			}
			if err := f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), scenario); err != nil {
				return fmt.Errorf("run: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	f.lab.register(fl)
	fl.DurationVar(&f.duration, "duration", 100*time.Millisecond, "simulated time to run")
	fl.StringVar(&f.out, "out", "", "folder to write the capture to, which must not exist, or file NAME.dat, or -")
	f.file.register(fl)
	return cmd
}

func scenarioNames() (names []string) {
	for _, s := range workload.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer, scenario string) error {
	if f.duration < 0 {
		return usageError{fmt.Errorf("--duration %v is negative", f.duration)}
	}
	f.lab.console = stderr
	target, err := f.file.target()
	if err != nil {
		return err
	}
	l, err := f.lab.build(scenario)
	if err != nil {
		return err
	}
	keep, err := f.keeper(ctx, l, stdout, target)
	if err != nil {
		return err
	}
	return errors.Join(f.simulate(ctx, l, stderr, keep), keep.discard())
}

func (f *runFlags) simulate(ctx context.Context, l *lab, stderr io.Writer, keep keeper) error {
	if err := l.runShown(ctx, machine.Time(f.duration.Nanoseconds()), newProgress(stderr)); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "seed %d, %d CPUs, %v simulated\n", f.lab.seed, f.lab.cpus, f.duration)
	return keep.write()
}

// keeper keeps or drops the trace of a run. It is made before the run, which may take
// long, so that an output that cannot be written is reported at once.
type keeper struct{ write, discard func() error }

func (f *runFlags) keeper(ctx context.Context, l *lab, stdout io.Writer, target tracedat.Target) (keeper, error) {
	switch {
	case f.out == "":
		return keeper{l.printTrace(stdout), func() error { return nil }}, nil
	case isDatName(f.out):
		o, err := createOutput(ctx, f.out, stdout)
		if err != nil {
			return keeper{}, err
		}
		return keeper{func() error { return l.writeTraceDat(ctx, o, target) }, o.discard}, nil
	}
	o, err := createOutputDir(ctx, f.out)
	if err != nil {
		return keeper{}, err
	}
	readme := fmt.Sprintf("ftracelab run, seed %d, %d CPUs, %v simulated, set: %s\n",
		f.lab.seed, f.lab.cpus, f.duration, strings.Join(f.lab.set, " "))
	return keeper{func() error { return l.writeCapture(o, readme) }, o.discard}, nil
}

// isDatName reports whether --out asks for a trace.dat: because of its name, or because
// a folder cannot be written there.
func isDatName(out string) bool {
	if out == stdoutName || strings.HasSuffix(out, ".dat") {
		return true
	}
	info, err := os.Stat(out)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

func (l *lab) printTrace(w io.Writer) func() error {
	return func() error {
		text, err := l.fs.ReadFile("trace")
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
}

// writeCapture writes a capture folder. The pages come last, because reading them
// empties the buffer.
func (l *lab) writeCapture(o *outputDir, readme string) error {
	l.ft.Top().Stop()
	files, err := l.captureFiles(readme)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := o.write(f.name, f.data); err != nil {
			return err
		}
	}
	return o.commit()
}

type captureFile struct {
	name string
	data []byte
}

func (l *lab) onlineCPUs() (n int) {
	_ = l.ft.Do(func(m *machine.Machine) error { n = m.OnlineCPUs(); return nil }) // returns no error
	return n
}

// captureFiles collects the files of a capture folder, of the top instance.
func (l *lab) captureFiles(readme string) ([]captureFile, error) {
	return l.captureFilesOf(l.ft.Top(), readme)
}

// captureFilesOf collects the files of a capture folder of an instance.
func (l *lab) captureFilesOf(tr *tracer.Instance, readme string) ([]captureFile, error) {
	var formats, symbols bytes.Buffer
	for _, t := range l.ft.Types().All() {
		fmt.Fprintf(&formats, "==== events/%s/%s\n%s", t.System, t.Name, t.Format())
	}
	if _, err := l.machine.Kallsyms().WriteTo(&symbols); err != nil {
		return nil, err
	}
	files := []captureFile{
		{"README", []byte(readme)},
		{"formats_all.txt", formats.Bytes()},
		{"kallsyms.txt", symbols.Bytes()},
		{"state.txt", fmt.Appendf(capture.Moment(tr.Moment()), "online_cpus: %d\n", l.onlineCPUs())},
	}
	add := func(name, from string) error {
		data, err := l.fs.ReadFile(from)
		if err == nil {
			files = append(files, captureFile{name, data})
		}
		return err
	}
	dir := "" // of the instance
	if tr.Name() != "" {
		dir = "instances/" + tr.Name() + "/"
	}
	names := [][2]string{
		{"header_page.txt", "events/header_page"},
		{"trace.txt", dir + "trace"},
		{"trace_options", dir + "trace_options"},
		{"current_tracer", dir + "current_tracer"},
		{"trace_clock", dir + "trace_clock"},
		{"saved_cmdlines", "saved_cmdlines"},
		{"saved_tgids", "saved_tgids"},
		{"printk_formats", "printk_formats"},
		{"dynamic_events", "dynamic_events"},
		{"stack_map", dir + "stack_map"},
		{"stack_map_stat", dir + "stack_map_stat"},
		{"stack_map_bin", dir + "stack_map_bin"},
	}
	for cpu := range tr.Buffer().CPUs() {
		if !tr.ShowsLongest() { // if it does, the files belong to the other buffer
			names = append(names, [2]string{fmt.Sprintf("stats.cpu%d", cpu), fmt.Sprintf("%sper_cpu/cpu%d/stats", dir, cpu)})
		}
	}
	for _, n := range names {
		if err := add(n[0], n[1]); err != nil && tracefile.Errno(err) != syscall.ENOENT {
			return nil, err
		}
	}
	for cpu := range tr.Buffer().CPUs() {
		files = append(files, captureFile{fmt.Sprintf("cpu%d.raw", cpu), tr.TakeShown(cpu)})
	}
	return files, nil
}
