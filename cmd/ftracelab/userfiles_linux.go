package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"ftracelab/machine"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracer/dynevent"
	"ftracelab/workload/program"
)

// userFiles are the files of the host, on which uprobes can be put. A helper process
// looks at them, because the path may lead into the mount that this process serves.
type userFiles struct{ helper *fusefs.Helper }

// Stat implements dynevent.UserFiles.
func (u userFiles) Stat(path string) (dynevent.UserFile, error) {
	info, err := u.helper.Stat(path)
	if err != nil {
		return dynevent.UserFile{}, fmt.Errorf("user file: %w", err)
	}
	return dynevent.UserFile{ID: fileID(info), Regular: info.Mode&unix.S_IFMT == unix.S_IFREG, Size: info.Size}, nil
}

// fileID gives each file of the host a number that no other file has, nor a file of the
// simulated tasks.
func fileID(info fusefs.FileInfo) uint64 { return 1<<63 | (info.Dev<<40 ^ info.Ino) }

// starts gives the places that a program of the host passes when it begins; none if the
// file is no program.
func (u userFiles) starts(path string) []machine.Place {
	file, err := u.Stat(path)
	if err != nil || !file.Regular {
		return nil
	}
	f, err := u.helper.Open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil
	}
	defer f.Close() // the error does not matter: nothing was written
	places, err := program.Starts(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return nil
	}
	for n := range places {
		places[n].File = file.ID
	}
	return places
}
