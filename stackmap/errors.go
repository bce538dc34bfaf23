package stackmap

import (
	"errors"
	"fmt"
	"syscall"
)

// The errors of a map. Each wraps the errno that the kernel returns.
var (
	// ErrInvalid means that there is no map, that the stack is empty, that a
	// reset is in progress, or that a string is neither a reset nor a number.
	ErrInvalid = fmt.Errorf("stackmap: %w", syscall.EINVAL)
	// ErrTooDeep means that a stack is deeper than Config.MaxDepth. No counter
	// counts it.
	ErrTooDeep = fmt.Errorf("stackmap: stack too deep: %w", syscall.E2BIG)
	// ErrNoSpace means that the pool is exhausted or the probe limit reached.
	// It counts as a drop.
	ErrNoSpace = fmt.Errorf("stackmap: no slot for the stack: %w", syscall.ENOSPC)
	// ErrBusy is a reset while tracing is on or while another reset runs.
	ErrBusy = fmt.Errorf("stackmap: reset: %w", syscall.EBUSY)
	// ErrNoValue is the boot parameter without "=": such a kernel does not boot.
	ErrNoValue = errors.New("stackmap: " + bootParameter + " without a value: the kernel dies before its console is up")
)
