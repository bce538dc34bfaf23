package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ftracelab/tracer/tracedat"
	"ftracelab/workload/capture"
)

func convertCommand(memory *memoryFlag) *cobra.Command {
	var file fileFlags
	var kernel string
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write a trace.dat or a capture folder as a trace.dat",
		Long: `convert reads a trace.dat of either version, byte order and size of machine, or a
capture folder, and writes a trace.dat that trace-cmd and KernelShark open.`,
		Example: `  ftracelab convert --file-version 6 new.dat old.dat
  ftracelab convert --compression none capture/ capture.dat`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			target, err := file.target()
			if err != nil {
				return err
			}
			defer memory.limit()()
			if err := convert(args[0], args[1], target, capture.Options{Kernel: kernel, Memory: memory.budget()}); err != nil {
				return fmt.Errorf("convert: %w", err)
			}
			return nil
		},
	}
	file.register(cmd.Flags())
	cmd.Flags().StringVar(&kernel, "kernel", "", "of a folder: the folder with the kernel's formats_all, kallsyms and header_page")
	return cmd
}

func convert(from, to string, target tracedat.Target, opt capture.Options) (err error) {
	is, err := isTraceDat(from)
	if err != nil {
		return err
	}
	if is {
		f, err := tracedat.Open(from, opt.Memory)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return writeFile(to, func(w *os.File) error { return tracedat.Write(w, target, f.CanonicalMeta(), f.Sources()) })
	}
	d, err := capture.OpenDatFolder(from, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return writeFile(to, func(w *os.File) error { return tracedat.Write(w, target, d.Meta, d.Sources) })
}
