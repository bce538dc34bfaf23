//go:build !js

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ftracelab/stackmap"
)

func stackmapDumpCommand(memory *memoryFlag) *cobra.Command {
	var opt stackmap.DumpOptions
	var vmlinux, kallsyms string
	cmd := &cobra.Command{
		Use:   "stackmap-dump FILE",
		Short: "Read a stack_map_bin: either format, either byte order",
		Long: `stackmap-dump prints the stacks of a stack_map_bin as the kernel patches' own
tool does. - is standard input.`,
		Example: `  ftracelab stackmap-dump --top 10 --vmlinux vmlinux stack_map.bin`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer memory.limit()()
			opt.Memory = memory.budget()
			if vmlinux != "" && kallsyms != "" {
				return usageError{errors.New("stackmap-dump: --vmlinux and --kallsyms both name symbols")}
			}
			if kallsyms != "" {
				f, err := openRegular(kallsyms)
				if err != nil {
					return fmt.Errorf("stackmap-dump: %w", err)
				}
				defer f.Close()
				k, err := stackmap.ReadKallsyms(underContext(cmd.Context(), f), opt.Memory)
				if err != nil {
					return fmt.Errorf("stackmap-dump: %s: %w", kallsyms, err)
				}
				opt.Symbols = k.Symbol
			}
			if vmlinux != "" {
				f, err := openRegular(vmlinux)
				if err != nil {
					return fmt.Errorf("stackmap-dump: %w", err)
				}
				defer f.Close()
				v, err := stackmap.ReadVmlinux(f)
				if err != nil {
					return fmt.Errorf("stackmap-dump: %s: %w", vmlinux, err)
				}
				opt.Symbols = v.Symbol
			}
			in := cmd.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("stackmap-dump: %w", err)
				}
				defer f.Close()
				in = f
			}
			n, err := stackmap.WriteDump(cmd.OutOrStdout(), underContext(cmd.Context(), in), opt)
			if n > 0 || err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Total: %d unique stacks\n", n)
			}
			if err != nil {
				err = fmt.Errorf("stackmap-dump: %s: %w", args[0], err)
			}
			if n > 0 && err != nil { // stacks are written despite an error only with --keep-going
				return skippedError{err}
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&opt.JSON, "json", false, "print JSON")
	fl.IntVar(&opt.Top, "top", 0, "only so many stacks, those seen most often")
	fl.StringVar(&vmlinux, "vmlinux", "", "ELF file with the kernel's symbols")
	fl.StringVar(&kallsyms, "kallsyms", "", "text of /proc/kallsyms of the kernel that made the map")
	fl.BoolVar(&opt.KeepGoing, "keep-going", false, "print what could be read of a damaged file")
	return cmd
}
