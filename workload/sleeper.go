package workload

import (
	"errors"
	"fmt"
	"syscall"

	"ftracelab/machine"
)

// Process is a program that a task of the machine runs, and says how the task is
// scheduled.
type Process struct {
	Comm  string
	Sleep machine.Time // the program sleeps once for that long
	Work  machine.Time // … or it computes for that long; if both are 0, it reads and writes a little
	machine.SchedAttr
}

// StartProcess starts p, which runs as simulated time passes. exited tells whether it
// has come to its end; it may be called from any goroutine.
//
// Errors are those of machine.CheckScheduling. It is also an error if the machine does
// not run a workload of this package.
func StartProcess(lab Lab, p Process) (exited func() bool, err error) {
	var done func() bool
	err = lab.Do(func(m *machine.Machine) (err error) {
		w, ok := m.Workload().(*mix)
		if !ok {
			return errors.New("workload: the machine runs no scenario")
		}
		done, err = w.process(p)
		return err
	})
	return func() (is bool) {
		_ = lab.Do(func(*machine.Machine) error { is = done(); return nil }) // returns no error
		return is
	}, err
}

func (w *mix) process(p Process) (done func() bool, err error) {
	if err := w.m.CheckScheduling(nil, &p.SchedAttr); err != nil {
		return nil, err
	}
	calls := []int32{sysRead, sysWrite, sysExitGroup}
	switch {
	case p.Sleep > 0:
		calls = []int32{sysClockNanosleep, sysExitGroup}
	case p.Work > 0:
		calls = []int32{sysExitGroup}
	}
	rng, round := w.m.Rand("sleeper"), 0
	t := w.m.Spawn(machine.TaskConfig{Comm: p.Comm, Memory: newUserStack(), Next: func(_ *machine.CPU, t *machine.Task) machine.Stay {
		round++
		nr := calls[min(round, len(calls))-1]
		key := sleeps(int64(nr))
		stay := machine.Stay{Kind: machine.Syscall, After: max(p.Work, 100*machine.Microsecond), NR: int64(nr)}
		switch nr {
		case sysClockNanosleep:
			stay.Wait = machine.Wait{Timeout: p.Sleep, By: machine.Sleep}
		case sysRead, sysWrite:
			key = fmt.Sprintf("sys %d", nr)
		}
		stay.Code, stay.User = pick(rng, w.codes[key]), w.userAt(t, round, nr)
		return stay
	}})
	if err := w.m.SetScheduling(t, p.SchedAttr); err != nil {
		panic("workload: invariant: it was checked: " + err.Error())
	}
	return func() bool { return w.m.Task(t.PID) != t }, nil
}

// Scheduling tells how a task of lab's machine is scheduled. Errors: ESRCH if there is
// no task with that pid.
func Scheduling(lab Lab, pid int) (attr machine.SchedAttr, err error) {
	err = lab.Do(func(m *machine.Machine) error {
		t := m.Task(pid)
		if t == nil || pid == 0 {
			return fmt.Errorf("no task %d: %w", pid, syscall.ESRCH)
		}
		attr = t.SchedAttr()
		return nil
	})
	return attr, err
}

// SetScheduling changes how a task is scheduled. Errors: ESRCH, and those of
// machine.CheckScheduling.
func SetScheduling(lab Lab, pid int, attr machine.SchedAttr) error {
	return lab.Do(func(m *machine.Machine) error {
		t := m.Task(pid)
		if t == nil || pid == 0 {
			return fmt.Errorf("no task %d: %w", pid, syscall.ESRCH)
		}
		return m.SetScheduling(t, attr)
	})
}
