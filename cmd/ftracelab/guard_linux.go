package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/fusefs"
)

// guard is a process that unmounts a tree should its server, this process, be killed.
// It has a session of its own, so that what kills our process group does not reach it.
type guard struct {
	cmd   *exec.Cmd
	alive io.Closer // a pipe that ends with us
}

func startGuard(m *fusefs.Mount) (*guard, error) {
	id, err := m.ID()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", "unmount-after", m.Dir(), strconv.FormatUint(id, 10))
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the process that unmounts after this one: %w", err)
	}
	return &guard{cmd, alive}, nil
}

// stop ends it; it unmounts what is still mounted.
func (g *guard) stop() error { return errors.Join(g.alive.Close(), g.cmd.Wait()) }

func unmountAfter(dir string, id uint64, server io.Reader) error {
	return fusefs.UnmountAfter(dir, id, server)
}
