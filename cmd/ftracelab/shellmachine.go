package main

import (
	"context"
	"strings"
	"syscall"
	"time"

	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/workload"
)

// shellFlags are the flags of shell. A lesson has the first two of them as well.
type shellFlags struct {
	lab       labFlags
	scenario  string
	command   string
	hostWrite bool
	memory    shellMemory
}

// shellConfig gives the configuration of a shell in the tracefs of the lab's machine,
// without its streams.
func (l *lab) shellConfig(cpus int) shell.Config {
	kallsyms := func() string {
		var text strings.Builder
		if _, err := l.machine.Kallsyms().WriteTo(&text); err != nil {
			return ""
		}
		return text.String()
	}
	return shell.Config{
		FS: l.fs,
		Sleep: func(ctx context.Context, d time.Duration) error {
			return l.run(ctx, machine.Time(d.Nanoseconds()))
		},
		Now: func() (now time.Time) {
			_ = l.ft.Do(func(m *machine.Machine) error { now = time.Unix(0, int64(m.Now())).UTC(); return nil }) // returns no error
			return now
		},
		CPUs:    cpus,
		Proc:    map[string]func() string{"/proc/kallsyms": kallsyms, "/proc/cmdline": func() string { return l.cmdline }},
		Files:   l.hostFiles(),
		Machine: guest{l},
	}
}

// hostFiles gives the files outside of the tracefs that belong to tracing or act on the
// machine, by path.
//
// Departure: of all writes of the shell, only one to /proc/interrupts becomes a system
// call of the machine.
func (l *lab) hostFiles() map[string]tracefile.Node {
	writer := workload.ProcWriter{Lab: l.ft, PID: shell.PID, Comm: "sh"}
	files := map[string]tracefile.Node{
		"/proc/interrupts": tracefile.Seq("interrupts", 0o444, l.interrupts).OnWrite(func([]byte) error {
			if err := writer.Write(); err != nil {
				return err
			}
			return tracefile.Errorf(syscall.EIO, "interrupts has no write operation")
		}),
		"/proc/modules":             tracefile.Seq("modules", 0o444, l.modules),
		"/sys/kernel/debug/kprobes": l.ft.KprobesDir(),
		"/dev/kmsg":                 l.ft.Kmsg(),
		"/proc/sysrq-trigger":       l.sysrqTrigger(), "/sys/block": l.blockDir(), "/dev/" + workload.DiskName: l.diskNode(),
	}
	for name, f := range l.hotplugFiles() {
		files[name] = f
	}
	for _, f := range l.kernelFiles() {
		files["/proc/sys/kernel/"+f.Name] = f
	}
	for _, f := range l.ft.DebugSysctls() {
		files["/proc/sys/debug/"+f.Name] = f
	}
	return files
}
