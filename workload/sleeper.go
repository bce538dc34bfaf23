package workload

import (
	"errors"

	"ftracelab/workload/machine"
)

// Sleep runs a process that sleeps once, for d, and exits, and lets time pass
// until it has: sleep(1) under any scheduling policy, which cfg has.
//
// The error says that the machine does not run a workload of this package.
func Sleep(lab Lab, cfg machine.TaskConfig, d machine.Time) error {
	var done func() bool
	err := lab.Do(func(m *machine.Machine) error {
		w, ok := m.Workload().(*mix)
		if !ok {
			return errors.New("workload: the machine runs no scenario")
		}
		done = w.sleeper(cfg, d)
		return nil
	})
	if err != nil {
		return err
	}
	return await(lab, "sleep", d+moduleTimeout, done)
}

func (w *mix) sleeper(cfg machine.TaskConfig, d machine.Time) (done func() bool) {
	rng, round := w.m.Rand("sleeper"), 0
	cfg.Memory = newUserStack()
	cfg.Next = func(_ *machine.CPU, t *machine.Task) machine.Stay {
		round++
		nr, stay := int32(sysClockNanosleep), machine.Stay{Kind: machine.Syscall, After: 100 * machine.Microsecond}
		if round > 1 {
			nr = sysExitGroup
		} else {
			stay.Wait = machine.Wait{Timeout: d, By: machine.Sleep}
		}
		stay.NR, stay.Code, stay.User = int64(nr), pick(rng, w.codes[sleeps(int64(nr))]), w.userAt(t, round, nr)
		return stay
	}
	t := w.m.Spawn(cfg)
	return func() bool { return w.m.Task(t.PID) != t }
}
