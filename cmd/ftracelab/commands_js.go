package main

import "github.com/spf13/cobra"

// subcommands are those of the program in a page: what the page needs, since each command
// makes it larger. A program for js/wasm that runs elsewhere has them as well.
func subcommands(memory *memoryFlag) []*cobra.Command {
	return []*cobra.Command{
		estimateCommand(memory), reportCommand(memory), shellCommand(), runCommand(),
		stepCommand(), pageCommand(memory), learnCommand(), serveCommand(), explainCommand(),
	}
}
