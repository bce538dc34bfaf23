package main

import (
	"fmt"
	"os"
	"syscall"

	"ftracelab/tracer"
	"ftracelab/workload/machine"
	"ftracelab/workload/program"
)

// userFiles are the files of the host, as uprobes are put on them.
type userFiles struct{}

// Stat implements tracer.UserFiles.
func (userFiles) Stat(path string) (tracer.UserFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return tracer.UserFile{}, fmt.Errorf("user file: %w", err)
	}
	return tracer.UserFile{ID: fileID(info), Regular: info.Mode().IsRegular(), Size: info.Size()}, nil
}

// fileID tells files of the host apart, and from those of simulated tasks.
func fileID(info os.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return 1<<63 | (stat.Dev<<40 ^ stat.Ino)
}

// starts is where a program of the host begins; nowhere if it is none.
func (u userFiles) starts(path string) []machine.Place {
	file, err := u.Stat(path)
	if err != nil || !file.Regular {
		return nil
	}
	places, err := program.Starts(path)
	if err != nil {
		return nil
	}
	for n := range places {
		places[n].File = file.ID
	}
	return places
}
