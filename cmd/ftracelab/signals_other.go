//go:build !unix && !js

package main

import (
	"os"
	"syscall"
)

// endSignals gives the signals that end the program.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// writeSignals gives the signals that come with a failed write; there are none here.
func writeSignals() []os.Signal { return nil }

// isBrokenPipe reports whether an error says that nobody reads a pipe. It is false:
// such a write fails here like any other.
func isBrokenPipe(error) bool { return false }
