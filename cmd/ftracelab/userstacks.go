//go:build !js

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	"ftracelab/machine"
	"ftracelab/report/experiment"
	"ftracelab/report/userstacks/compare"
)

// maxUserStacks bounds the simulated time of each trace of experiment user-stacks.
const maxUserStacks = 10 * time.Second

// userStackWorkloads differ in how many events a stay in the kernel has.
func userStackWorkloads() []compare.Workload {
	return []compare.Workload{
		{Name: "page faults", Scenario: "mix", Set: []string{"set_event=exceptions:page_fault_user"}},
		{Name: "system calls", Scenario: "mix", Set: []string{"set_event=raw_syscalls"}},
		{Name: "kmem and system calls", Scenario: "mix", Set: []string{"set_event=kmem raw_syscalls"}},
		{Name: "sched, kmem and system calls of deep programs", Scenario: "deep", Set: []string{"set_event=sched kmem raw_syscalls"}},
	}
}

// userStacksCommand is experiment user-stacks.
func userStacksCommand(memory *memoryFlag) *cobra.Command {
	var (
		seeds    int
		cpus     int
		duration time.Duration
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "user-stacks",
		Short: "Compare the ways to record user stacks",
		Long: `user-stacks traces the same simulated workloads with user stacks that are unwound later
(options/userstacktrace_delay) and with user stacks that are walked at every event
(options/userstacktrace). It prints what each way takes: copying 8 or 64 KiB of user memory
with each event, walking, and unwinding later, also with a map of user stacks and without
the inode and device of each address. Beside it stand what was traced, how many joins
failed and why, and from how many events per stay in the kernel on unwinding later pays.`,
		Example: `  ftracelab experiment user-stacks
  ftracelab experiment user-stacks --seeds 3 --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cpus < 1 || cpus > machine.MaxCPUs:
				return usageError{fmt.Errorf("user-stacks: --cpus %d: want 1 to %d", cpus, machine.MaxCPUs)}
			case seeds < 1 || seeds > 1000:
				return usageError{fmt.Errorf("user-stacks: --seeds %d: want 1 to 1000", seeds)}
			case duration <= 0 || duration > maxUserStacks:
				return usageError{fmt.Errorf("user-stacks: --duration %v: want more than 0, at most %v", duration, maxUserStacks)}
			}
			opt := compare.Options{Workloads: userStackWorkloads()}
			for n := range seeds {
				opt.Seeds = append(opt.Seeds, uint32(n+1))
			}
			opt.Open = func(ctx context.Context, w compare.Workload, seed uint32, set ...string) (*compare.Trace, error) {
				return openUserStacks(ctx, memory, w, cpus, duration, seed, set)
			}
			table, err := compare.Run(cmd.Context(), opt)
			if err != nil {
				return fmt.Errorf("user-stacks: %w", err)
			}
			if asJSON {
				return table.WriteJSON(cmd.OutOrStdout())
			}
			return table.WriteText(cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&seeds, "seeds", 5, "how many seeds, from 1 on")
	fl.IntVar(&cpus, "cpus", defaultCPUs, "simulated CPUs")
	fl.DurationVar(&duration, "duration", 200*time.Millisecond, "simulated time of each trace")
	fl.BoolVar(&asJSON, "json", false, "print JSON (docs/schema/user-stacks.json)")
	return cmd
}

// openUserStacks traces a workload.
func openUserStacks(ctx context.Context, memory *memoryFlag, w compare.Workload, cpus int, d time.Duration, seed uint32, set []string) (*compare.Trace, error) {
	flags := labFlags{cpus: cpus, seed: uint64(seed), preset: "none", deferred: true}
	dir, err := flags.trace(ctx, experiment.Workload{
		Name: w.Name, Scenario: w.Scenario, Duration: experiment.Duration(d), Set: append(append([]string{}, w.Set...), set...),
	})
	if err != nil {
		return nil, err
	}
	open := func() (*capture.Capture, error) {
		return capture.OpenFS(dir, ".", capture.Options{Context: ctx, Memory: memory.budget(), Shown: w.Name})
	}
	c, err := open()
	if err != nil {
		return nil, err
	}
	t := &compare.Trace{Open: func() (compare.Reading, error) { return open() }}
	for _, s := range c.Info().Stats {
		if s.Overrun > 0 {
			t.Lossy = append(t.Lossy, s.CPU)
		}
	}
	return t, c.Close()
}
