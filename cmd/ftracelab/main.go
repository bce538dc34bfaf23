//go:build !js

// Command ftracelab is Linux ftrace as an ordinary program. It estimates what
// de-duplicating stacks would save on a capture, runs a simulated machine with a
// tracefs and a shell to use it, and reads the binary export of the stack map.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	l := newLifetime(context.Background())
	l.watch()
	l.exit(run(l.ctx, os.Args[1:], os.Stdin, l.stdout(os.Stdout), os.Stderr))
}

// run executes one command line and returns the exit status. It is separate from main
// so that tests can call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	l := lifetimeOf(ctx)
	stdout, flushOut := harmless(stdout)
	stderr, flushErr := harmless(stderr)
	defer func() { flushOut(); flushErr() }()
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(l.ctx)
	if why, ended := l.endedBy(); ended {
		return why.status()
	}
	var status exitStatus
	var usage usageError
	var skipped skippedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	complain(stderr, "ftracelab: %v", err)
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &skipped):
		return exitSkipped
	}
	return exitFailed
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "ftracelab",
		Short: "Linux ftrace as an ordinary program: learn it, size it, try designs",
		Long: `ftracelab is an emulation of Linux 6.12's ftrace in pure Go.

  ftracelab estimate                     what would stackmap save on this capture?
  ftracelab estimate perf.txt            … and on yours
  ftracelab merge *.ftls                 … and on a fleet, from estimate --summary
  ftracelab experiment variants          designs compared, over workloads and seeds
  ftracelab model DIR -o m.yaml          a model of a capture, without its addresses
  ftracelab merge -o fleet.ftls *.ftls   one answer for many machines
  ftracelab report DIR                   a capture's pages as the text of trace
  ftracelab run --out x.dat              a trace.dat for trace-cmd and KernelShark
  ftracelab shell                        a tracefs to play with; no root, no kernel
  ftracelab learn 1                      ten lessons with questions and exercises
  ftracelab serve                        all of it in a browser on this computer
  ftracelab explain need-resched         what a mark, option, file or error is
  ftracelab run --out DIR                a capture of the simulated machine
  ftracelab mount DIR                    its tracefs for any program, through FUSE
  ftracelab exec -- trace-cmd list -t    a program that takes it for the kernel's

The exit status is 0 if all was done, 1 if it failed, 2 if the command line was
wrong, and 3 if it was done but --keep-going left parts out, which are then told.
A signal ends the program with 128 and its number: 129 HUP, 130 INT, 143 TERM; 141
is for an output that nobody reads any more. shell and exec end with the status of
what they ran.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see ftracelab --help", args[0])}
			}
			return nil
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	memory := newMemoryFlag(machineMemory())
	root.PersistentFlags().Var(memory, "memory", "memory that reading a capture may take, as 256M")
	root.AddCommand(subcommands(memory)...)
	root.Version = version()
	addCompletions(root)
	return root
}
