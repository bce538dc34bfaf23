package main

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/fusefs/bridge"
	"ftracelab/workload"
	"ftracelab/workload/machine"
)

// live is a lab that is mounted: its time follows the wall clock, and who uses it
// is a task of its machine.
type live struct {
	*lab
	bridge *bridge.Bridge
	mount  *fusefs.Mount
	guard  *guard
}

// fuse is the configuration of a mount of the lab's tree on dir, with a bridge to be closed
// after it.
func (l *lab) fuse(dir string, clock *fusefs.Clock) (fusefs.Config, *bridge.Bridge, error) {
	guests, err := workload.NewGuests(l.machine)
	if err != nil {
		return fusefs.Config{}, nil, err
	}
	guests.Starts = userFiles{}.starts
	run := func(ns uint64) { l.ft.Run(machine.Time(ns)) }
	do := func(f func()) { _ = l.ft.Do(func(*machine.Machine) error { f(); return nil }) }
	b := bridge.New(bridge.Config{Guests: guests, Do: do, Run: run, Clock: clock, Root: dir})
	return fusefs.Config{FS: l.fs, Clock: clock, Run: run, Before: b.Before, PID: b.PID}, b, nil
}

// mount mounts the lab's tree on dir.
func (l *lab) mount(dir, source string, clock *fusefs.Clock) (*live, error) {
	cfg, b, err := l.fuse(dir, clock)
	if err != nil {
		return nil, err
	}
	cfg.Source = source
	m, err := fusefs.New(dir, cfg)
	if err != nil {
		b.Close()
		return nil, err
	}
	g, err := startGuard(m)
	if err != nil {
		err = errors.Join(err, m.Close())
		b.Close()
		return nil, err
	}
	return &live{l, b, m, g}, nil
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
	defer l.bridge.Close()
	return errors.Join(l.mount.Close(), l.guard.stop())
}
