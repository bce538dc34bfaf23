//go:build !js

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ftracelab/internal/bench"
)

func benchCommand() *cobra.Command {
	var asJSON bool
	var cfg bench.Config
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the ring buffer and the text beside others on this machine",
		Long: `bench measures writes and reads of the ring buffer beside a bounded copy, a
channel, other rings and loggers, taking turns in one process, and report beside
trace-cmd report where that is installed, and prints the median ratios. Times are this machine's; ratios are what to quote.
docs/performance.md explains the rows.`,
		Example: `  ftracelab bench
  ftracelab bench --only R1,R3 --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			table := cmd.OutOrStdout()
			if asJSON {
				table = io.Discard
			}
			cfg.Notes = cmd.ErrOrStderr()
			if cfg.Ftracelab, err = os.Executable(); err != nil {
				return err
			}
			temp := ""
			done, err := lifetimeOf(cmd.Context()).atEnd(func() (err error) {
				temp, err = os.MkdirTemp("", "ftracelab-bench")
				return err
			}, func() { _ = os.RemoveAll(temp) })
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, done(func() error { return os.RemoveAll(temp) })) }()
			cfg.Dir = temp
			rows, err := bench.Run(cmd.Context(), table, cfg)
			if errors.Is(err, bench.ErrNoRow) {
				return usageError{err}
			}
			if err != nil || !asJSON {
				return err
			}
			text, err := json.MarshalIndent(rows, "", "  ")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringSliceVar(&cfg.Only, "only", nil, "only these rows; R7 is all of R7/…")
	return cmd
}
