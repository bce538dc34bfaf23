//go:build !linux

package main

import (
	"fmt"
	"syscall"

	"ftracelab/tracer"
)

// userFiles are the files of the host. Only on Linux can they be probed.
type userFiles struct{}

// Stat implements tracer.UserFiles.
func (userFiles) Stat(path string) (tracer.UserFile, error) {
	return tracer.UserFile{}, fmt.Errorf("user file %s: %w", path, syscall.ENOENT)
}
