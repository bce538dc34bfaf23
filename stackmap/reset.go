package stackmap

import "fmt"

// Reset clears the map and its counters; the seed stays, so the same stacks get
// the same ids again unless other stacks have taken their slots first. The
// caller has checked that tracing is off.
//
// before, if it is not nil, runs first, inside the reset. Revision v4 empties the ring
// buffer and the snapshot there, so that nobody sees an id whose stack is gone.
//
// Errors: ErrBusy if another reset runs.
//
// Kernel: ftrace_stackmap_reset, trace_stackmap.c.
func (m *Map) Reset(before func()) error {
	if !m.resetting.CompareAndSwap(false, true) {
		return fmt.Errorf("another reset runs: %w", ErrBusy)
	}
	defer m.resetting.Store(false)
	if before != nil {
		before()
	}
	m.current.Store(newGeneration(m.cfg))
	return nil
}

// ResetWrite is a write of p to stack_map: it checks the string, then that
// tracing is off, then resets. before is what [Map.Reset] calls first.
//
// Errors: ErrInvalid for a string that is no reset, whatever the state; ErrBusy
// if tracing is on or another reset runs.
//
// Kernel: stackmap_write, trace_stackmap.c.
func (m *Map) ResetWrite(p []byte, tracing bool, before func()) error {
	if err := parseReset(p); err != nil {
		return err
	}
	if tracing {
		return fmt.Errorf("tracing is on: %w", ErrBusy)
	}
	return m.Reset(before)
}

// parseReset checks what was written to stack_map: exactly "0" or "reset", one
// newline allowed. Everything else, including an empty write, is ErrInvalid.
func parseReset(p []byte) error {
	switch string(p) {
	case "0", "0\n", "reset", "reset\n":
		return nil
	}
	const shown = 16
	return fmt.Errorf("%.*q is neither 0 nor reset: %w", shown, p, ErrInvalid)
}
