package main

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/fusefs/cell"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/workload"
)

// overlays gives the machine's files outside of tracefs.
//
// Departure: /proc/sys/kernel/kptr_restrict, perf_event_paranoid and sched_rt_runtime_us
// and /proc/sys/debug/exception-trace take a number and do nothing: every reader of
// kallsyms sees the addresses, there is no perf_event_open, real-time tasks are not
// throttled, and a process that dies of a signal leaves no message. What else is in
// /proc/sys/kernel can only be read, and is this computer's but for the files of the
// tracers, osrelease, version and pid_max.
func (l *lab) overlays() ([]cell.Overlay, error) {
	// perf reads the first two in order to know whether the addresses in kallsyms are
	// real.
	sysctls := []tracefile.Node{
		cell.Kept("kptr_restrict", "0"), cell.Kept("perf_event_paranoid", "1"), cell.Kept("sched_rt_runtime_us", "950000"),
	}
	sysctls = append(sysctls, tracefile.Value("pid_max", 0o444, func() string { return fmt.Sprintln(l.machine.PIDLimit()) }, nil))
	sysctls = append(sysctls,
		tracefile.Value("osrelease", 0o444, func() string { return machine.Release + "\n" }, nil),
		tracefile.Value("version", 0o444, func() string { return machine.Version + "\n" }, nil))
	for _, f := range l.kernelFiles() {
		sysctls = append(sysctls, f)
	}
	kernel, err := cell.HostDir("/proc/sys/kernel", sysctls...)
	if err != nil {
		return nil, err
	}
	debug := []tracefile.Node{cell.Kept("exception-trace", "1")}
	for _, f := range l.ft.DebugSysctls() {
		debug = append(debug, f)
	}
	return []cell.Overlay{
		{Path: "/proc/version", Node: tracefile.Value("version", 0o444, func() string { return machine.Banner }, nil), NoWrite: true},
		{Path: "/proc/cmdline", Node: tracefile.Value("cmdline", 0o444, func() string { return l.cmdline }, nil), NoWrite: true},
		{Path: "/dev/kmsg", Node: l.ft.Kmsg()},
		{Path: "/dev/cpu_dma_latency", Node: l.ft.CPUDMALatency()},
		{Path: "/proc/sys/debug", Node: folder("debug", debug...)},
		{Path: cell.Debug + "/kprobes", Node: l.ft.KprobesDir()},
		{Path: "/proc/kallsyms", Node: tracefile.Seq("kallsyms", 0o444, func() ([]byte, error) {
			var b bytes.Buffer
			_, err := l.machine.Kallsyms().WriteTo(&b)
			return b.Bytes(), err
		}), NoWrite: true},
		{Path: "/proc/interrupts", Node: tracefile.Seq("interrupts", 0o444, l.interrupts), NoWrite: true},
		{Path: "/proc/sysrq-trigger", Node: l.sysrqTrigger()},
		{Path: "/proc/modules", Node: tracefile.Seq("modules", 0o444, l.modules), NoWrite: true},
		{Path: "/proc/sys/kernel", Node: kernel},
		{Path: "/sys/devices/system/cpu", Node: l.cpuDir()},
		{Path: "/sys/block", Node: l.blockDir()},
	}, nil
}

// cpuDir is /sys/devices/system/cpu, with the machine's CPUs, which can be taken
// offline.
func (l *lab) cpuDir() *tracefile.Dir {
	cpus := l.machine.CPUs()
	text := func(name string, show func() string) tracefile.Node { return tracefile.Value(name, 0o444, show, nil) }
	fixed := func(name, s string) tracefile.Node { return text(name, func() string { return s }) }
	list := func(want bool) func() string {
		return func() (s string) {
			_ = l.ft.Do(func(*machine.Machine) error { // returns no error
				s = cpuList(cpus, func(c *machine.CPU) bool { return c.Online() == want })
				return nil
			})
			return s
		}
	}
	all := cpuList(cpus, func(*machine.CPU) bool { return true })
	nodes := []tracefile.Node{
		text("online", list(true)), text("offline", list(false)), fixed("possible", all), fixed("present", all),
		fixed("isolated", "\n"), fixed("kernel_max", fmt.Sprintln(machine.MaxCPUs-1)),
	}
	switches := l.hotplugFiles()
	for n := range cpus {
		name := fmt.Sprintf("cpu%d", n)
		var files []tracefile.Node
		if f := switches["/sys/devices/system/cpu/"+name+"/online"]; f != nil {
			files = append(files, f)
		}
		nodes = append(nodes, folder(name, files...))
	}
	return folder("cpu", nodes...)
}

// cpuList lists some of the CPUs in the kernel's form: 0-3,5.
func cpuList(cpus []*machine.CPU, want func(*machine.CPU) bool) string {
	var parts []string
	for i := 0; i < len(cpus); i++ {
		first := i
		for i < len(cpus) && want(cpus[i]) {
			i++
		}
		switch {
		case i-first > 1:
			parts = append(parts, fmt.Sprintf("%d-%d", first, i-1))
		case i > first:
			parts = append(parts, fmt.Sprint(first))
		}
	}
	return strings.Join(parts, ",") + "\n"
}

// moduleControls gives the files with which the scripts below load and list modules. The
// list is /proc/modules too, but a host without modules has no place for that.
func (l *lab) moduleControls() []tracefile.Node {
	return []tracefile.Node{
		tracefile.Value("modprobe", 0o200, nil, func(s string) error {
			words := strings.Fields(s)
			if len(words) == 0 {
				return tracefile.Errorf(syscall.EINVAL, "modprobe without a module")
			}
			return workload.Modprobe(l.ft, words[0], words[1:])
		}),
		tracefile.Seq("modules", 0o444, l.modules),
		tracefile.Value("rmmod", 0o200, nil, func(s string) error { return workload.Rmmod(l.ft, strings.TrimSpace(s)) }),
	}
}

// modprobe, insmod, rmmod and lsmod of a cell act on the simulated machine. The host's
// programs would act on the host's kernel, and none lists modules without /proc/modules.
const (
	modprobeScript = `#!/bin/sh
control=/sys/kernel/tracing/.ftracelab/modprobe
while :; do
	case $1 in
	-r | --remove) control=/sys/kernel/tracing/.ftracelab/rmmod ;;
	-*) ;;
	*) break ;;
	esac
	shift
done
if ! printf '%s ' "$@" 2>/dev/null > $control; then
	echo "modprobe: FATAL: Module $1 not found." >&2
	exit 1
fi
`
	lsmodScript = `#!/bin/sh
echo 'Module                  Size  Used by'
while read -r name size used by rest; do
	[ "$by" = - ] && by=
	printf '%-19s %8s  %s%s\n' "$name" "$size" "$used" "${by:+ ${by%,}}"
done < /sys/kernel/tracing/.ftracelab/modules
`
	rmmodScript = `#!/bin/sh
for module; do
	case $module in -*) continue ;; esac
	if ! printf %s "$module" 2>/dev/null > /sys/kernel/tracing/.ftracelab/rmmod; then
		reason='not currently loaded'
		while read -r name rest; do
			[ "$name" = "$(echo "$module" | tr - _)" ] && reason='in use'
		done < /sys/kernel/tracing/.ftracelab/modules
		echo "rmmod: ERROR: Module $module is $reason" >&2
		exit 1
	fi
done
`
)
