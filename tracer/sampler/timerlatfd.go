package sampler

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
)

// timerlatUser is a process that takes the place of timerlat's thread on a CPU. It
// reads timerlat_fd again and again, and each read returns when the timer has woken the
// process.
//
// Departure: between two reads the process only uses the time that the system calls
// take. If it does not read again, it sleeps in pause. It is a task with a pid of its own,
// also if the reader is a client of a mount, and it moves simulated time on while it waits.
//
// Kernel: timerlat_fd_open, timerlat_fd_read and timerlat_fd_release,
// kernel/trace/trace_osnoise.c.
type timerlatUser struct {
	s            *osnoise
	task         *machine.Task
	v            *osnoiseCPU // nil: it has closed the file, or was killed
	wanted, done int         // how many reads were asked for, and how many are done
	waits        bool        // it waits for the timer
}

// timerlatFD is osnoise/per_cpu/cpuN/timerlat_fd.
func (s *osnoise) timerlatFD(c *machine.CPU) tracefile.Node {
	return &tracefile.File{Name: "timerlat_fd", Mode: 0o440, Open: func(ctx context.Context, _ tracefile.Flags) (tracefile.Handle, error) {
		u := &timerlatUser{s: s}
		err := s.ft.Do(func(*machine.Machine) error { return u.open(ctx, c) })
		if err != nil {
			return nil, err
		}
		return u, nil
	}}
}

// anyCPU is the CPU on which a caller runs that may run on all.
const anyCPU = 0

// open makes the caller the thread of its CPU. Errors: EINVAL unless timerlat runs
// without OSNOISE_WORKLOAD, EBUSY if the CPU of the caller already has a thread, EPERM
// for a caller that may run on other CPUs than c.
func (u *timerlatUser) open(ctx context.Context, c *machine.CPU) error {
	s := u.s
	if !s.timerlat || s.has(osnoiseWorkload) {
		return fmt.Errorf("timerlat_fd: timerlat has to run with NO_OSNOISE_WORKLOAD: %w", syscall.EINVAL)
	}
	who, _ := tracefile.CallerOf(ctx)
	if !who.Pinned {
		who.CPU = anyCPU
	}
	switch {
	case who.CPU < len(s.vars) && s.vars[who.CPU].pid != 0:
		return fmt.Errorf("timerlat_fd: CPU %d has a thread: %w", who.CPU, syscall.EBUSY)
	case !who.Pinned, who.CPU != c.ID, !c.Online():
		return fmt.Errorf("timerlat_fd: the caller does not run on CPU %d alone: %w", c.ID, syscall.EPERM)
	}
	u.task = s.ft.Machine().Spawn(machine.TaskConfig{Comm: who.Comm, CPU: c.ID, Bound: true, Memory: noMemory{}, Next: u.next})
	u.v = &s.vars[c.ID]
	u.v.user, u.v.pid, u.v.timer = u, u.task.PID, timerlatCPU{}
	return nil
}

// noMemory is a user stack that cannot be read.
type noMemory struct{}

func (noMemory) Load(uint64) (uint64, bool) { return 0, false }

// Read waits for the next period. It returns no data.
func (u *timerlatUser) Read(ctx context.Context, _ []byte) (int, error) {
	gone, done := false, false
	look := func(m *machine.Machine) error {
		gone, done = u.v == nil, u.done == u.wanted
		// The process may have been on its way into a pause when the read began.
		if _, asleep := u.task.Sleeping(); asleep && !gone && !done && !u.waits {
			m.Wake(u.task)
		}
		return nil
	}
	_ = u.s.ft.Do(func(m *machine.Machine) error { // returns no error
		u.wanted++
		return look(m)
	})
	for !gone && !done {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		u.s.ft.Run(machine.Millisecond / 10)
		_ = u.s.ft.Do(look)
	}
	if gone {
		return 0, fmt.Errorf("timerlat_fd: the process was killed: %w", syscall.EINTR)
	}
	return 0, io.EOF
}

func (u *timerlatUser) Write(context.Context, []byte) (int, error) { return 0, syscall.EINVAL }

// Flush implements tracefile.Handle.
func (u *timerlatUser) Flush() error { return nil }

// Poll implements tracefile.Handle: the kernel's file has no such operation.
func (u *timerlatUser) Poll() tracefile.Events { return tracefile.PollAlways }

// Close ends the process.
func (u *timerlatUser) Close() error {
	return u.s.ft.Do(func(m *machine.Machine) error {
		if u.v != nil {
			*u.v = osnoiseCPU{}
		}
		u.end(m)
		return nil
	})
}

// end lets the process exit, as a signal does.
func (u *timerlatUser) end(m *machine.Machine) {
	if u == nil {
		return
	}
	u.v = nil
	if _, asleep := u.task.Sleeping(); asleep {
		m.Wake(u.task)
	}
}

// next gives the next stay of the process: a read, or a pause.
func (u *timerlatUser) next(c *machine.CPU, _ *machine.Task) machine.Stay {
	stay := machine.Stay{Kind: machine.Syscall, After: machine.Microsecond}
	switch {
	case u.v == nil:
		stay.NR = sysExitGroup
		stay.Code = u.s.threadCode("timerlat exits", func(a *machine.Assembler) {
			userCall(a).Call("do_group_exit").Call("do_exit").Trace(machine.EvSchedExit, 0)
			a.Call("do_task_dead").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule").Switch(machine.StateDead).Return(6)
		})
	case u.done == u.wanted:
		stay.NR = sysPause
		stay.Code = u.s.threadCode("timerlat pauses", func(a *machine.Assembler) {
			userCall(a).Call("schedule").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule")
			a.Switch(machine.StateInterruptible).State(0, 0, 0).Return(4)
		})
	default:
		u.read(c, &stay)
	}
	return stay
}

// System calls of such a process, besides read, which is 0.
const (
	sysPause     = 34
	sysExitGroup = 231
)

// userCall adds the way from user space into a system call.
func userCall(a *machine.Assembler) *machine.Assembler {
	return a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64")
}

// read gives a read of timerlat_fd. It reports how late the process comes back from
// user space, waits for the timer, and reports how late the process is woken.
func (u *timerlatUser) read(c *machine.CPU, stay *machine.Stay) {
	s := u.s
	stay.Code = s.threadCode("timerlat reads", func(a *machine.Assembler) {
		userCall(a).Call("ksys_read").Call("vfs_read").Hide("timerlat_fd_read").State(0, 0, 1).Probe()
		a.Call("schedule").State(machine.FlagIRQsOff, 1, 1).Hide("__schedule").Switch(machine.StateInterruptible)
		a.State(0, 0, 1).Return(2).Probe().Return(1).State(0, 0, 0).Return(4)
	})
	first := !u.v.sampling
	woken := u.v.timer.due
	due := woken
	if first {
		due = c.Time
	}
	for due <= c.Time {
		due += s.timerPeriod * machine.Microsecond
	}
	stay.Wait = machine.Wait{At: due, By: machine.Sleep}
	entered := false
	stay.Probe = func(c *machine.CPU) {
		v := u.v
		if v == nil {
			return // the process was killed
		}
		switch {
		case !entered:
			if !first {
				s.timerlatUserReturns(c, v, c.Time-woken)
			}
			entered, u.waits = true, true
			v.timer.tracing, v.sampling, v.timer.due = false, true, due
		case c.Time >= due:
			u.waits = false
			u.done++
			s.timerlatUserWakes(c, v, c.Time-due)
		}
	}
}

func (s *osnoise) timerlatUserReturns(c *machine.CPU, v *osnoiseCPU, late machine.Time) {
	s.timerlatSample(c, v.timer.count, timerlatUserReturn, late)
	s.longest(late)
	if s.stopTotal > 0 && late/1000 >= s.stopTotal {
		s.stopTracing(c, "timerlat_fd_read")
	}
}

func (s *osnoise) timerlatUserWakes(c *machine.CPU, v *osnoiseCPU, late machine.Time) {
	s.timerlatSample(c, v.timer.count, timerlatThread, late)
	if us := late / 1000; s.stopTotal > 0 && us >= s.stopTotal {
		if s.printStack > 0 && us >= s.printStack {
			s.dumpStack(c, v.timer.stack)
		}
		s.longest(late)
		s.stopTracing(c, "timerlat_fd_read")
	}
}
