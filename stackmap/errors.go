package stackmap

import (
	"errors"
	"fmt"
	"syscall"
)

// The errors of a map. Each wraps the errno the kernel answers with.
var (
	// ErrInvalid is no map, an empty stack, a reset in progress, or a string
	// that is neither a reset nor a number.
	ErrInvalid = fmt.Errorf("stackmap: %w", syscall.EINVAL)
	// ErrTooDeep is a stack deeper than Config.MaxDepth. It counts as nothing.
	ErrTooDeep = fmt.Errorf("stackmap: stack too deep: %w", syscall.E2BIG)
	// ErrNoSpace is an exhausted pool or probe limit. It counts as a drop.
	ErrNoSpace = fmt.Errorf("stackmap: no slot for the stack: %w", syscall.ENOSPC)
	// ErrBusy is a reset while tracing is on or while another reset runs.
	ErrBusy = fmt.Errorf("stackmap: reset: %w", syscall.EBUSY)
	// ErrNoValue is the boot parameter without "=": such a kernel does not boot.
	ErrNoValue = errors.New("stackmap: " + bootParameter + " without a value: the kernel dies before its console is up")
)
