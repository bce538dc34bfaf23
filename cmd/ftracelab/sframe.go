//go:build !js

package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"ftracelab/unwind/sframe"
)

func sframeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sframe FILE",
		Short: "Print the SFrame table of a program",
		Long: `sframe prints the section .sframe of an ELF file in the form of objdump --sframe: for each
function, from which instruction on the CFA (the stack pointer before the call), the
caller's frame pointer and the return address are where. u stands for a register that
has not changed, or for a place that is the same in all functions.

Versions 1, 2 and 3 are read, for x86-64, arm64 and s390x. A file whose section is
damaged is refused, and the error names the function and the byte.`,
		Example: `  ftracelab sframe /usr/bin/program
  ftracelab sframe --json program`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, format, err := openSFrame(args[0])
			if err != nil {
				return fmt.Errorf("sframe: %s: %w", args[0], err)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				l, err := s.List()
				if err != nil {
					return fmt.Errorf("sframe: %s: %w", args[0], err)
				}
				e := json.NewEncoder(out)
				e.SetIndent("", "  ")
				return e.Encode(l)
			}
			if _, err := fmt.Fprintf(out, "\n%s:     file format %s\n\nContents of the SFrame section .sframe:\n", args[0], format); err != nil {
				return err
			}
			return s.Table(out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// openSFrame reads the section of a file, and says what binutils calls its format.
func openSFrame(path string) (*sframe.Section, string, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, "", err
	}
	s, err := sframe.Open(f)
	if err != nil {
		return nil, "", err
	}
	return s, formatNames[s.Arch], nil
}

// formatNames are binutils' names of the formats of files, by the architecture of the section.
var formatNames = [...]string{
	sframe.ARM64Big: "elf64-bigaarch64", sframe.ARM64: "elf64-littleaarch64",
	sframe.AMD64: "elf64-x86-64", sframe.S390X: "elf64-s390",
}
