package main

import (
	"fmt"
	"os"
	"syscall"
)

// forCommands opens a terminal once more, so that a read from it can be ended. A read
// from the first one, which others may have open, too, cannot be ended. done closes it.
func forCommands(terminal *os.File) (in *os.File, done func()) {
	in, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", terminal.Fd()), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return terminal, func() {}
	}
	return in, func() { in.Close() }
}
