package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ftracelab/machine"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/fusefs/bridge"
	"ftracelab/tracefsfs/fusefs/cell"
	"ftracelab/workload"
)

// live is a lab that is mounted. Its time follows the wall clock, and each process that
// uses it is a task of its machine.
type live struct {
	*lab
	bridge *bridge.Bridge
	mount  *fusefs.Mount
	helper *fusefs.Helper
}

// alive makes f the flags of a lab whose time goes by clock, and returns what will tell of
// the files that its machine changes.
func (f *labFlags) alive(clock *fusefs.Clock, helper *fusefs.Helper) *fusefs.Changes {
	changes := new(fusefs.Changes)
	f.wait, f.files, f.changed = clock.Wait, userFiles{helper}, changes.Add
	return changes
}

// fuse gives the configuration for mounting the lab's tree on dir, and a bridge that
// has to be closed after the mount. The bridge is told of the calls in observe, too.
func (l *lab) fuse(
	dir string, clock *fusefs.Clock, helper *fusefs.Helper, changes *fusefs.Changes, observe []observedCall,
) (fusefs.Config, *bridge.Bridge, error) {
	guests, err := workload.NewGuests(l.machine)
	if err != nil {
		return fusefs.Config{}, nil, err
	}
	guests.Starts = userFiles{helper}.starts
	var more []int64
	for _, c := range observe {
		if err := guests.Show(c.nr, c.name); err != nil {
			return fusefs.Config{}, nil, fmt.Errorf("--observe %s: %w", c.name, err)
		}
		more = append(more, c.nr)
	}
	run := func(ns uint64) { l.ft.Run(machine.Time(ns)) }
	do := func(f func()) { _ = l.ft.Do(func(*machine.Machine) error { f(); return nil }) }
	b := bridge.New(bridge.Config{Guests: guests, Do: do, Run: run, Clock: clock, Root: dir, Observe: more})
	return fusefs.Config{
		FS: l.fs, Clock: clock, Run: run, Before: b.Before, PID: b.PID, Opens: b.Opens, Helper: helper, NotSelf: true, Polls: true,
		Changes: changes,
	}, b, nil
}

// mount mounts the lab's tree on dir.
func (l *lab) mount(dir, source string, clock *fusefs.Clock, helper *fusefs.Helper, changes *fusefs.Changes) (*live, error) {
	cfg, b, err := l.fuse(dir, clock, helper, changes, nil)
	if err != nil {
		return nil, err
	}
	cfg.Source = source
	m, err := fusefs.New(dir, cfg)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &live{l, b, m, helper}, nil
}

// untilDone serves until the tree is unmounted, ctx is done, or the program is told to
// end.
func (l *live) untilDone(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	unmounted := make(chan struct{})
	go func() { l.mount.Wait(); close(unmounted) }()
	var err error
	select {
	case <-ctx.Done():
	case <-unmounted:
	case <-l.helper.Gone():
		err = errors.New("the process that keeps the mount has ended")
	}
	defer l.bridge.Close()
	return errors.Join(err, l.mount.Close())
}

// supervised runs this program a second time. The second process serves, while this one
// supervises it (fusefs.Supervise). If one of the two, or the helper, ends, the others
// end as well.
func supervised() error {
	if err := fusefs.Available(); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// It has a session of its own, so that what stops or kills our process group does
	// not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	status, err := fusefs.Supervise(cmd)
	if err != nil {
		return err
	}
	return asExit(status)
}

func (f *mountFlags) run(cmd *cobra.Command, dir string) (err error) {
	if !fusefs.Supervised() {
		return supervised()
	}
	helper, err := fusefs.StartHelper()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, helper.Close()) }()
	clock := new(fusefs.Clock)
	changes := f.lab.alive(clock, helper)
	f.lab.console = cmd.ErrOrStderr()
	if f.lab.foreign.First, f.lab.foreign.Limit, err = cell.HostPIDs(); err != nil {
		return err
	}
	l, err := f.lab.build(f.scenario)
	if err != nil {
		return err
	}
	source := ""
	if f.spoof {
		source = fusefs.SpoofedSource(dir, "tracefs")
	}
	served, err := l.mount(dir, source, clock, helper, changes)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "mounted on %s; seed %d, %d CPUs\n", dir, f.lab.seed, f.lab.cpus)
	return served.untilDone(cmd.Context())
}
