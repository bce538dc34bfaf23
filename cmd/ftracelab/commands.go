//go:build !js

package main

import "github.com/spf13/cobra"

// subcommands are those of this program.
func subcommands(memory *memoryFlag) []*cobra.Command {
	return []*cobra.Command{
		estimateCommand(memory), reportCommand(memory), shellCommand(), runCommand(),
		mountCommand(), execCommand(), convertCommand(memory), experimentCommand(memory),
		mergeCommand(memory), modelCommand(memory), stepCommand(), pageCommand(memory), learnCommand(),
		serveCommand(), sampleCommand(), sframeCommand(), stackmapDumpCommand(memory), benchCommand(),
		manCommand(), explainCommand(),
	}
}

// usageArgs makes a mistake in the arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
