//go:build !linux && !js

package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (f *mountFlags) run(*cobra.Command, string) error {
	return fmt.Errorf("mounting on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
