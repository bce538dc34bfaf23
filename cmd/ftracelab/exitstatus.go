package main

import "fmt"

// Exit statuses besides those of signals, for which see endedBy.
const (
	exitFailed  = 1 // the operation failed
	exitUsage   = 2 // the command line was wrong
	exitSkipped = 3 // the operation was done, but --keep-going left parts out
)

// exitStatus ends the program with a status and no message of its own.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// skippedError says what was left out by a command that otherwise did its work.
type skippedError struct{ err error }

func (e skippedError) Error() string { return e.err.Error() }
func (e skippedError) Unwrap() error { return e.err }

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }
