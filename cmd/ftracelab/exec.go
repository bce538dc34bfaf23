//go:build !js

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"ftracelab/workload"
)

type execFlags struct {
	lab      labFlags
	cpusSaid bool // --cpus was given
	scenario string
	plain    bool

	network, perfEvents bool

	observe []string
}

func execCommand() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec [FLAG]… -- PROGRAM [ARG]…",
		Short: "Run a program that uses the emulation and believes it is the kernel's",
		Long: `exec runs a program of this computer in a cell, in which the tracefs of a
simulated machine stands at /sys/kernel/tracing: trace-cmd, perf ftrace, the
kernel's selftests. Files beside it that belong to the machine (/proc/kallsyms,
/proc/sys/kernel/ftrace_enabled, …) are the machine's, too.

In a cell there are no mounts of this computer's kernel, no processes outside,
no devices and no network but a loopback; few capabilities, and no system calls
that mount, make namespaces or change the kernel. A test tries to get out. The
files are this computer's: what you may write, the program may write. exec
refuses to start where it cannot make all of this.

It needs Linux 5.12 and /dev/fuse, and root or the right to make user namespaces.`,
		Example: `  ftracelab exec -- trace-cmd record -e sched -o /tmp/trace.dat sleep 1
  ftracelab exec -- sh -c 'cd /sys/kernel/tracing; cat available_tracers'
  ftracelab exec --observe getppid -- trace-cmd record -e syscalls:sys_enter_getppid PROGRAM`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which program? ftracelab exec -- PROGRAM [ARG]…")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			lifetimeOf(cmd.Context()).ownSignals()
			f.cpusSaid = cmd.Flags().Changed(cpusFlag)
			return f.run(args)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	f.lab.register(fl)
	own := fl.Lookup(cpusFlag)
	own.Usage, own.DefValue = "simulated CPUs (default those of this computer that programs started here may use)", "0"
	fl.StringVar(&f.scenario, "scenario", workload.Beside, "what the machine does")
	fl.BoolVar(&f.plain, "plain-source", false, "an ordinary word as the mount's source; libtracefs and perf then do not find it")
	fl.StringSliceVar(&f.observe, "observe", nil,
		"system calls to show beside those that name files, as getppid,close, or all; they cost the program some 10 µs each")
	fl.BoolVar(&f.network, "network", false, "share this computer's network; without it there is only a loopback")
	fl.BoolVar(&f.perfEvents, "perf-events", false, "allow perf_event_open, which is this computer's kernel's")
	return cmd
}
