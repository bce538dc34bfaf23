package main

import (
	"fmt"
	"math/bits"
	"syscall"
	"time"

	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/workload"
)

// guest is the machine in the form in which the shell's commands use it.
type guest struct{ *lab }

func (g guest) Modprobe(name string, params []string) error {
	return workload.Modprobe(g.ft, name, params)
}

func (g guest) Rmmod(name string) error { return workload.Rmmod(g.ft, name) }

func (g guest) Modules() (list []shell.Module) {
	_ = g.ft.Do(func(m *machine.Machine) error { // returns no error
		for _, name := range m.LoadedModules() {
			list = append(list, shell.Module{Name: name, Refs: m.ModuleRefs(name)})
		}
		return nil
	})
	return list
}

func (g guest) Start(comm string, sleep, work time.Duration, s shell.Scheduling) (exited func() bool, err error) {
	return workload.StartProcess(g.ft, workload.Process{
		Comm: comm, Sleep: machine.Time(sleep.Nanoseconds()), Work: machine.Time(work.Nanoseconds()), SchedAttr: attrOf(s),
	})
}

func (g guest) Tasks() (list []shell.Task) {
	_ = g.ft.Do(func(m *machine.Machine) error { // returns no error
		for _, t := range m.Tasks() {
			row := shell.Task{
				PID: t.PID, Comm: t.Comm, State: stateLetter(t.State()), Kernel: t.Kernel, CPU: t.CPU().ID,
				Runtime: time.Duration(t.Runtime()), Started: time.Duration(t.StartTime()), Scheduling: schedulingOf(t.SchedAttr()),
			}
			if t.Parent != nil {
				row.PPID = t.Parent.PID
			}
			list = append(list, row)
		}
		return nil
	})
	return list
}

// stateLetter is a task's state as ps writes it.
//
// Kernel: task_index_to_char, include/linux/sched.h.
func stateLetter(state int64) byte {
	if state&machine.StateIdle == machine.StateIdle {
		return 'I'
	}
	return "RSDTtXZP"[bits.Len64(uint64(state)&0x7f)]
}

func (g guest) Ring(instance string, cpu int) (drawing string, err error) {
	err = g.ft.Do(func(m *machine.Machine) error {
		for _, tr := range g.ft.Instances() {
			if tr.Name() == instance && cpu < len(m.CPUs()) {
				drawing = tr.Buffer().Diagram(cpu).String()
				return nil
			}
		}
		return syscall.ENOENT
	})
	return drawing, err
}

func (g guest) Scheduling(pid int) (shell.Scheduling, error) {
	attr, err := workload.Scheduling(g.ft, pid)
	return schedulingOf(attr), err
}

func schedulingOf(attr machine.SchedAttr) shell.Scheduling {
	return shell.Scheduling{
		Policy: int(attr.Policy), Nice: attr.Nice, Priority: attr.Priority,
		Runtime: attr.Runtime, Deadline: attr.Deadline, Period: attr.Period,
	}
}

func (g guest) SetScheduling(pid int, s shell.Scheduling) error {
	return workload.SetScheduling(g.ft, pid, attrOf(s))
}

func attrOf(s shell.Scheduling) machine.SchedAttr {
	return machine.SchedAttr{
		Policy: machine.Policy(s.Policy), Nice: s.Nice, Priority: s.Priority,
		DeadlineParams: machine.DeadlineParams{Runtime: s.Runtime, Deadline: s.Deadline, Period: s.Period},
	}
}

func (g guest) Syslog(action, level int) error {
	_, _, err := g.machine.Log().Syslog(action, level)
	return err
}

// hotplugFiles are /sys/devices/system/cpu/cpuN/online of every CPU except the first
// one, which cannot go offline.
func (l *lab) hotplugFiles() map[string]*tracefile.File {
	files := map[string]*tracefile.File{}
	for n, c := range l.machine.CPUs()[1:] {
		files[fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", n+1)] = tracefile.Value("online", 0o644,
			func() (text string) {
				_ = l.ft.Do(func(*machine.Machine) error { text = online(c); return nil }) // returns no error
				return text
			},
			func(s string) error {
				on, err := tracefile.ParseBool(s)
				if err != nil {
					return fmt.Errorf("online: %w", err)
				}
				return workload.Hotplug(l.ft, c.ID, on)
			})
	}
	return files
}

// kernelFiles gives the files of /proc/sys/kernel that belong to the tracers and to the
// machine.
func (l *lab) kernelFiles() []*tracefile.File {
	return append(l.ft.Sysctls(), workload.NewWatchdog(l.ft).Files()...)
}

// sysrqTrigger is /proc/sysrq-trigger.
func (l *lab) sysrqTrigger() *tracefile.File {
	return tracefile.Value("sysrq-trigger", 0o200, nil, func(s string) error { return workload.SysRq(l.ft, s) })
}

func online(c *machine.CPU) string {
	if c.Online() {
		return "1\n"
	}
	return "0\n"
}
