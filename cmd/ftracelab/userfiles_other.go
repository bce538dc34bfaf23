//go:build !linux

package main

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/dynevent"
)

// userFiles are the files of the host. Only on Linux can they be probed.
type userFiles struct{}

// Stat implements dynevent.UserFiles.
func (userFiles) Stat(path string) (dynevent.UserFile, error) {
	return dynevent.UserFile{}, fmt.Errorf("user file %s: %w", path, syscall.ENOENT)
}
