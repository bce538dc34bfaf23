//go:build !linux && !js

package main

import (
	"errors"
	"fmt"
	"runtime"
)

func (f *execFlags) run([]string) error {
	return fmt.Errorf("exec on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
