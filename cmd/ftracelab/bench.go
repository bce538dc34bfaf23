package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ftracelab/internal/bench"
)

func benchCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the ring buffer beside others on this machine",
		Long: `bench measures writes and reads of the ring buffer beside a bounded copy, a
channel, other rings and loggers, taking turns in one process, and prints the
median ratios. Times are this machine's; ratios are what to quote.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				_, err := bench.Run(cmd.Context(), cmd.OutOrStdout())
				return err
			}
			rows, err := bench.Run(cmd.Context(), io.Discard)
			if err != nil {
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
	return cmd
}
