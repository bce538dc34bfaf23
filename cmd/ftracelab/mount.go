package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ftracelab/tracefsfs/fusefs"
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
	fl.StringVar(&f.scenario, "scenario", "", "what the machine does (default mix)")
	fl.BoolVar(&f.spoof, "spoof-mounts", false, "a source that makes libtracefs take the mount for tracefs (see fusefs.SpoofedSource)")
	return cmd
}

// guardCommand is the second process of mount, which outlives the first (see guard).
func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "unmount-after DIR ID",
		Short:  "Unmount DIR when the standard input ends; mount starts it for itself",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			lifetimeOf(cmd.Context()).ownSignals()
			id, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usageError{err}
			}
			return unmountAfter(args[0], id, cmd.InOrStdin())
		},
	}
}

func (f *mountFlags) run(cmd *cobra.Command, dir string) error {
	clock := new(fusefs.Clock)
	f.lab.wait, f.lab.files = clock.Wait, userFiles{}
	f.lab.console = cmd.ErrOrStderr()
	l, err := f.lab.build(f.scenario)
	if err != nil {
		return err
	}
	source := ""
	if f.spoof {
		source = fusefs.SpoofedSource(dir)
	}
	served, err := l.mount(dir, source, clock)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "mounted on %s; seed %d, %d CPUs\n", dir, f.lab.seed, f.lab.cpus)
	return served.untilDone(cmd.Context())
}
