//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// endSignals gives the signals that end the program.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// writeSignals gives the signals that come with a failed write: nobody reads, or the
// file is too large.
func writeSignals() []os.Signal { return []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ} }

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
