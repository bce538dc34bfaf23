//go:build !unix

package main

import (
	"os"
	"syscall"
)

// endSignals end the program.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// writeSignals come with a failed write, where there are such.
func writeSignals() []os.Signal { return nil }

// isBrokenPipe says whether nobody reads a pipe; such a write is an error like others.
func isBrokenPipe(error) bool { return false }
