package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"ftracelab/internal/tracefile"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/fusefs/cell"
	"ftracelab/workload/machine"
)

func (f *execFlags) run(argv []string) error {
	if !cell.Inside() {
		status, err := cell.Reexec()
		if err != nil {
			return err
		}
		return asExit(status)
	}
	clock := new(fusefs.Clock)
	f.lab.wait = clock.Wait
	l, err := f.lab.build(f.scenario)
	if err != nil {
		return err
	}
	overlays, err := l.overlays()
	if err != nil {
		return err
	}
	tracing, bridge, err := l.fuse(clock)
	if err != nil {
		return err
	}
	defer bridge.Close()
	c, err := cell.New(cell.Config{
		Tracing:     tracing,
		Overlays:    overlays,
		Programs:    map[string]string{"mount.tracefs": cell.Remounter, "mount.fuse.tracefs": cell.Remounter},
		PlainSource: f.plain,
	})
	if err != nil {
		return err
	}
	status, err := c.Run(argv, os.Stdin, os.Stdout, os.Stderr)
	err = errors.Join(err, c.Close())
	var notFound *exec.Error
	if errors.As(err, &notFound) {
		return err
	}
	if err != nil {
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

// overlays are the machine's files outside of tracefs.
func (l *lab) overlays() ([]cell.Overlay, error) {
	sysctls := []tracefile.Node{cell.Kept("kptr_restrict", "0"), cell.Kept("sched_rt_runtime_us", "950000")}
	for _, f := range l.ft.Sysctls() {
		sysctls = append(sysctls, f)
	}
	kernel, err := cell.HostDir("/proc/sys/kernel", sysctls...)
	if err != nil {
		return nil, err
	}
	text := func(name string, show func() ([]byte, error)) tracefile.Node { return tracefile.Seq(name, 0o444, show) }
	return []cell.Overlay{
		{Path: "/proc/kallsyms", Node: text("kallsyms", func() ([]byte, error) {
			var b bytes.Buffer
			_, err := l.machine.Kallsyms().WriteTo(&b)
			return b.Bytes(), err
		})},
		{Path: "/proc/interrupts", Node: tracefile.Seq("interrupts", 0o444, l.interrupts).OnWrite(func([]byte) error {
			return tracefile.Errorf(syscall.EIO, "interrupts cannot be written")
		})},
		{Path: "/proc/sys/kernel", Node: kernel},
		{Path: "/sys/devices/system/cpu", Node: l.cpuDir()},
	}, nil
}

// interrupts is /proc/interrupts of a machine whose interrupts nobody counts.
func (l *lab) interrupts() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%11s", "")
	for n := range l.machine.CPUs() {
		fmt.Fprintf(&b, "%-11s", fmt.Sprintf("CPU%d", n))
	}
	b.WriteString("\n")
	return b.Bytes(), nil
}

// cpuDir is /sys/devices/system/cpu: as many CPUs as the machine has.
func (l *lab) cpuDir() *tracefile.Dir {
	n := len(l.machine.CPUs())
	all := "0\n"
	if n > 1 {
		all = fmt.Sprintf("0-%d\n", n-1)
	}
	value := func(name, text string) tracefile.Node {
		return tracefile.Value(name, 0o444, func() string { return text }, nil)
	}
	nodes := []tracefile.Node{
		value("online", all), value("possible", all), value("present", all),
		value("offline", "\n"), value("isolated", "\n"),
		value("kernel_max", fmt.Sprintln(machine.MaxCPUs-1)),
	}
	for cpu := range n {
		nodes = append(nodes, &tracefile.Dir{Name: fmt.Sprintf("cpu%d", cpu), Mode: 0o755})
	}
	return &tracefile.Dir{Name: "cpu", Mode: 0o755, Children: func() []tracefile.Node { return nodes }}
}
