//go:build !js

package main

import (
	"github.com/spf13/cobra"

	"ftracelab/workload"
)

type mountFlags struct {
	lab      labFlags
	scenario string
	spoof    bool
}

func mountCommand() *cobra.Command {
	var f mountFlags
	cmd := &cobra.Command{
		Use:   "mount DIR",
		Short: "Serve the tracefs of a simulated machine through FUSE",
		Long: `mount puts the tracefs of a simulated machine where every program of this
computer can use it, and serves it until it is unmounted or interrupted; killed,
it leaves an ordinary empty folder. Simulated time follows the clock on the wall.
It needs root and /dev/fuse.

Clients that look for tracefs in /proc/mounts (trace-cmd, perf) are better
started by "ftracelab exec", which also keeps them off this computer's own
tracing.`,
		Example: `  ftracelab mount /tmp/tracing &
  echo function > /tmp/tracing/current_tracer; head -20 /tmp/tracing/trace
  umount -l /tmp/tracing`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			lifetimeOf(cmd.Context()).ownSignals()
			return f.run(cmd, args[0])
		},
	}
	fl := cmd.Flags()
	f.lab.register(fl)
	fl.StringVar(&f.scenario, "scenario", workload.Beside, "what the machine does")
	fl.BoolVar(&f.spoof, "spoof-mounts", false, "a source that makes libtracefs take the mount for tracefs (see fusefs.SpoofedSource)")
	return cmd
}
