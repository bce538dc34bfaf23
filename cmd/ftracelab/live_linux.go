package main

import (
	"context"
	"os/signal"
	"syscall"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload/machine"
)

// live is a lab that is mounted: its time follows the wall clock.
type live struct {
	*lab
	mount *fusefs.Mount
}

// mount mounts the lab's tree on dir.
func (l *lab) mount(dir, source string, clock *fusefs.Clock) (*live, error) {
	m, err := fusefs.New(dir, fusefs.Config{
		FS: l.fs, Clock: clock, Source: source,
		Run: func(ns uint64) { l.ft.Run(machine.Time(ns)) },
	})
	if err != nil {
		return nil, err
	}
	return &live{l, m}, nil
}

// untilDone serves until the tree is unmounted, ctx is done or the program is told
// to end.
func (l *live) untilDone(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	unmounted := make(chan struct{})
	go func() { l.mount.Wait(); close(unmounted) }()
	select {
	case <-ctx.Done():
	case <-unmounted:
	}
	return l.mount.Close()
}
