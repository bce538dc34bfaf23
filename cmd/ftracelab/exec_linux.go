package main

import (
	"errors"
	"os"

	"ftracelab/machine"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/fusefs/cell"
)

func (f *execFlags) run(argv []string) (err error) {
	observe, err := parseObserved(f.observe)
	if err != nil {
		return err
	}
	if cell.IsFirst() {
		status, err := cell.Main(argv)
		if err != nil {
			return err
		}
		return asExit(status)
	}
	if !cell.Inside() {
		status, err := cell.Reexec()
		if err != nil {
			return err
		}
		return asExit(status)
	}
	helper, err := fusefs.StartHelper()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, helper.Close()) }()
	clock := new(fusefs.Clock)
	changes := f.lab.alive(clock, helper)
	if f.lab.foreign.First, f.lab.foreign.Limit, err = cell.PIDs(); err != nil {
		return err
	}
	if !f.cpusSaid {
		f.lab.cpus = min(cell.CPUs(), machine.MaxCPUs)
	}
	l, err := f.lab.build(f.scenario)
	if err != nil {
		return err
	}
	overlays, err := l.overlays()
	if err != nil {
		return err
	}
	tracing, bridge, err := l.fuse(cell.Tracing, clock, helper, changes, observe)
	if err != nil {
		return err
	}
	defer bridge.Close()
	tracing.Control = l.moduleControls()
	c, err := cell.New(cell.Config{
		Tracing:  tracing,
		Overlays: overlays,
		Before:   tracing.Before,
		Programs: map[string]string{
			"mount.tracefs": cell.Remounter, "mount.fuse.tracefs": cell.Remounter,
			"modprobe": modprobeScript, "insmod": modprobeScript, "rmmod": rmmodScript,
			"lsmod": lsmodScript,
		},
		PlainSource: f.plain,
		Network:     f.network,
		PerfEvents:  f.perfEvents,
		Release:     machine.Release,
		Version:     machine.Version,
		Syslog:      l.machine.Log().Syslog,
	})
	if err != nil {
		return err
	}
	status, err := c.Run(cell.Program{
		Argv: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Started: bridge.Enter,
		Calls:   bridge.Observed(),
		CatchUp: bridge.CatchUp,
		Observe: func(c cell.Call) { bridge.Observe(c.TID, c.NR, c.Args, c.Waits) },
	})
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	return asExit(status)
}

func asExit(status int) error {
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}
