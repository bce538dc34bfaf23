//go:build unix && !linux

package main

import "errors"

// makeDevice is only known of Linux.
func makeDevice(string, uint64) error { return errors.ErrUnsupported }
