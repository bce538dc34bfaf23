package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ftracelab/workload/capture"
)

// reportFlags are the flags of report.
type reportFlags struct {
	kernel    string
	options   []string
	cpu       int
	keepGoing bool
}

func reportCommand() *cobra.Command {
	f := reportFlags{cpu: -1}
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print a capture folder as the file trace",
		Long: `report prints what the kernel would have shown in the file trace (or in
per_cpu/cpuN/trace) when it wrote the pages cpuN.raw of a capture folder, with
the trace_options, the tracer and the clock that the folder has notes of.

Pointers that the kernel would have hashed are printed as they are.`,
		Example: `  ftracelab report capture/
  ftracelab report --trace-option sym-offset --trace-option noirq-info capture/
  ftracelab report --cpu 1 capture/`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.kernel, "kernel", "", "folder with the kernel's formats_all, kallsyms and header_page")
	fl.StringArrayVar(&f.options, "trace-option", nil, "write OPTION or noOPTION to trace_options first")
	fl.IntVar(&f.cpu, "cpu", f.cpu, "only this CPU, as per_cpu/cpuN/trace")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "skip what is damaged, and count it")
	return cmd
}

func (f *reportFlags) run(ctx context.Context, stdout, stderr io.Writer, dir string) (err error) {
	t, err := capture.OpenTrace(dir, capture.Options{Kernel: f.kernel, KeepGoing: f.keepGoing})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, word := range f.options {
		if err := t.SetOption(word); err != nil {
			return usageError{fmt.Errorf("--trace-option %s: %w", word, err)}
		}
	}
	if err := t.WriteText(ctx, stdout, f.cpu); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if t.Hashed() {
		fmt.Fprintln(stderr, "report: pointers are not hashed: no capture has the kernel's key")
	}
	if info := t.Info(); info.FirstSkipped != nil {
		fmt.Fprintf(stderr, "report: skipped the rest of %d pages; the first: %v\n", info.SkippedPages, info.FirstSkipped)
	}
	return nil
}
