//go:build !js

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages, ftracelab.1 and one for each command",
		Long: `man writes the manual pages of ftracelab to a folder, which has to exist: man DIR/ftracelab.1
shows one.`,
		Example: `  ftracelab man ~/.local/share/man/man1`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return usageError{fmt.Errorf("man: %s is no folder", args[0])}
			}
			cmd.Root().DisableAutoGenTag = true
			release := time.Date(2024, 11, 17, 0, 0, 0, 0, time.UTC) // of Linux 6.12; the same bytes each day
			err := doc.GenManTree(cmd.Root(), &doc.GenManHeader{Title: "FTRACELAB", Section: "1", Source: "ftracelab", Manual: "ftracelab", Date: &release}, args[0])
			if err != nil {
				return fmt.Errorf("man: %w", err)
			}
			return nil
		},
	}
}
