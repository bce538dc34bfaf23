//go:build !js

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ftracelab/machine"
	"ftracelab/unwind"
	"ftracelab/unwind/sampler"
	"ftracelab/workload"
)

type sampleFlags struct {
	cpus     int
	seed     uint64
	duration time.Duration
	period   time.Duration
	unwind   string
	program  programFlags
}

// maxSample bounds the simulated time of sample.
const maxSample = time.Hour

func sampleCommand() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample [SCENARIO]",
		Short: "Sample a simulated machine as perf record does, with user stacks that are unwound later",
		Long: `sample simulates a machine whose CPUs take an NMI each time they have run for a while, and
prints the samples as perf script --no-merge-callchains does for perf record
--call-graph fp,defer: a sample has its kernel stack and a cookie, and the user stack
is a block of its own, once for all samples of a stay in the kernel. estimate and report
--join --folded read this text.`,
		Example: `  ftracelab sample --period 50us > samples.txt
  ftracelab estimate samples.txt
  ftracelab report --join --folded samples.txt`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			scenario := ""
			if len(args) > 0 {
				scenario = args[0]
			}
			if err := f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), scenario); err != nil {
				return fmt.Errorf("sample: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.cpus, cpusFlag, defaultCPUs, "simulated CPUs")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of every random stream")
	fl.DurationVar(&f.duration, "duration", 100*time.Millisecond, "simulated time")
	fl.DurationVar(&f.period, "period", 100*time.Microsecond, "how long a CPU runs until it is sampled again")
	fl.StringVar(&f.unwind, unwindFlag, "", unwindUsage)
	f.program.register(fl)
	return cmd
}

func (f *sampleFlags) run(ctx context.Context, stdout, stderr io.Writer, scenario string) error {
	switch {
	case f.cpus < 1 || f.cpus > machine.MaxCPUs:
		return usageError{fmt.Errorf("--cpus %d: want 1 to %d", f.cpus, machine.MaxCPUs)}
	case f.duration <= 0 || f.duration > maxSample:
		return usageError{fmt.Errorf("--duration %v: want more than 0, at most %v", f.duration, maxSample)}
	case f.period < time.Duration(sampler.MinPeriod) || f.period > f.duration:
		return usageError{fmt.Errorf("--period %v: want %v to the duration", f.period, time.Duration(sampler.MinPeriod))}
	}
	how, err := unwind.ParseConfig(f.unwind)
	if err != nil {
		return usageError{fmt.Errorf("--%s: %w", unwindFlag, err)}
	}
	if how.Methods, err = f.program.methods(); err != nil {
		return err
	}
	sc, err := workload.Find(scenario)
	if err != nil {
		return usageError{err}
	}
	m, err := machine.New(machine.Config{CPUs: f.cpus, Seed: f.seed})
	if err != nil {
		return usageError{err}
	}
	if err := sc.Start(m); err != nil {
		return err
	}
	if err := f.program.start(m, stderr); err != nil {
		return err
	}
	s, err := sampler.New(m, sampler.Config{Unwind: how, Period: machine.Time(f.period)})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(stdout)
	text := sampler.NewText(w, s)
	for left := machine.Time(f.duration); left > 0; left -= min(left, runStep) {
		if err := ctx.Err(); err != nil {
			return err
		}
		records := s.Run(min(left, runStep))
		for i := range records {
			if err := text.Write(&records[i]); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(stderr, "seed %d, %d CPUs, %v simulated\n", f.seed, f.cpus, f.duration)
	return w.Flush()
}
