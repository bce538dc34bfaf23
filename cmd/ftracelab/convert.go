//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	"ftracelab/tracer/tracedat"
)

func convertCommand(memory *memoryFlag) *cobra.Command {
	var file fileFlags
	var opt capture.Options
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write a trace.dat or a capture folder as a trace.dat",
		Long: `convert reads a trace.dat of either version, byte order and size of machine, or a
capture folder, and writes a trace.dat that trace-cmd and KernelShark open. OUT may
be -, the standard output.

Each page is decoded on the way. One that cannot be ends the conversion, and
nothing is written; with --keep-going it is left out and counted.`,
		Example: `  ftracelab convert --file-version 6 new.dat old.dat
  ftracelab convert --compression none capture/ capture.dat`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := file.target()
			if err != nil {
				return err
			}
			defer memory.limit()()
			opt.Context, opt.Memory = cmd.Context(), memory.budget()
			if err := convert(cmd.Context(), args[0], args[1], cmd.OutOrStdout(), target, opt); err != nil {
				return fmt.Errorf("convert: %w", err)
			}
			return nil
		},
	}
	file.register(cmd.Flags())
	cmd.Flags().StringVar(&opt.Kernel, "kernel", "", "of a folder: the folder with the kernel's formats_all, kallsyms and header_page")
	cmd.Flags().BoolVar(&opt.KeepGoing, "keep-going", false, "leave out pages that are damaged, and count them")
	return cmd
}

func convert(ctx context.Context, from, to string, stdout io.Writer, target tracedat.Target, opt capture.Options) (err error) {
	d, err := capture.OpenDat(from, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	out, err := createOutput(ctx, to, stdout, from, opt.Kernel)
	if err != nil {
		return err
	}
	err = writeOutput(out, func(w *os.File) error {
		return errors.Join(tracedat.Write(w, target, d.Meta, d.Sources), d.NothingLeft())
	})
	if err != nil {
		return err
	}
	if left := d.Skipped(); left != nil {
		return skippedError{left}
	}
	return nil
}
