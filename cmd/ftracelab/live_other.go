//go:build !linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"ftracelab/tracefsfs/fusefs"
)

type live struct{}

func (l *lab) mount(string, string, *fusefs.Clock) (*live, error) {
	return nil, fmt.Errorf("mounting on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (l *live) untilDone(context.Context) error { return nil }

func unmountAfter(string, uint64, io.Reader) error {
	return fmt.Errorf("mounting on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
