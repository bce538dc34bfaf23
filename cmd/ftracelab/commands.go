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
