//go:build !js

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ftracelab/machine"
	"ftracelab/report/returnhooks"
)

// maxReturnHooks bounds the simulated time of experiment return-hooks, which no signal
// ends in between.
const maxReturnHooks = time.Minute

// returnHooksCommand is experiment return-hooks.
func returnHooksCommand() *cobra.Command {
	var (
		opt      returnhooks.Options
		duration time.Duration
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "return-hooks",
		Short: "Compare the ways in which Linux has seen functions return",
		Long: `return-hooks lets the same simulated machine make the same calls through each way in which
Linux has seen functions return: the slots of 2008, kretprobe with pools of several
sizes, fprobe on rethook (6.12), fprobe on the shadow stack (6.14 and 2025), and fgraph
with 1 and 16 users. It prints what each has seen and missed, the memory that it keeps,
and what a hit does to memory, beside the published figures.`,
		Example: `  ftracelab experiment return-hooks
  ftracelab experiment return-hooks --function vfs_read --function vfs_write --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case opt.CPUs < 1 || opt.CPUs > machine.MaxCPUs:
				return usageError{fmt.Errorf("return-hooks: --cpus %d: want 1 to %d", opt.CPUs, machine.MaxCPUs)}
			case duration <= 0 || duration > maxReturnHooks:
				return usageError{fmt.Errorf("return-hooks: --duration %v: want more than 0, at most %v", duration, maxReturnHooks)}
			}
			opt.Duration = machine.Time(duration.Nanoseconds())
			table, err := returnhooks.Run(opt)
			if err != nil {
				return usageError{fmt.Errorf("return-hooks: %w", err)}
			}
			if asJSON {
				return table.WriteJSON(cmd.OutOrStdout())
			}
			return table.WriteText(cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&opt.Functions, "function", []string{"schedule"}, "a function whose returns are wanted")
	fl.StringVar(&opt.Scenario, "scenario", "mix", "what the machine runs")
	fl.IntVar(&opt.CPUs, "cpus", defaultCPUs, "simulated CPUs")
	fl.Uint64Var(&opt.Seed, "seed", 1, "seed of every random stream")
	fl.DurationVar(&duration, "duration", time.Second, "simulated time to run")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
