package workload

import (
	"fmt"

	"ftracelab/machine"
)

// daemon is a process that wakes every few milliseconds, reads, writes and
// sleeps again, so that no trace of the default scenario is ever silent.
type daemon struct {
	step int
}

// daemonCalls are the system calls of a daemon in one round, after its sleep.
var daemonCalls = []struct {
	nr   int64
	args [6]uint64
	ret  int64
}{
	{sysClockNanosleep, [6]uint64{1, 0, 0x7fffffffdc40, 0}, 0},
	{0, [6]uint64{4, 0x55555565f2a0, 4096}, 118},
	{1, [6]uint64{5, 0x55555565f2a0, 118}, 118},
	{257, [6]uint64{0xffffffffffffff9c, 0x555555556010, 0x80000, 0}, 6},
	{0, [6]uint64{6, 0x55555565f2a0, 1024}, 27},
	{3, [6]uint64{6}, 0},
}

func (w *mix) daemons() {
	if w.cfg.Daemon == 0 {
		return
	}
	t := w.m.Spawn(machine.TaskConfig{
		Comm: "systemd-journal", PID: firstPID(w.m) - 10, CPU: 1, Data: new(daemon), Asleep: true,
		Wait: machine.Wait{Timeout: w.around(w.pace().Daemon), By: machine.Sleep},
	})
	t.Memory = newUserStack()
}

func (w *mix) nextRound(t *machine.Task, d *daemon) machine.Stay {
	call := daemonCalls[d.step%len(daemonCalls)]
	d.step++
	key := fmt.Sprintf("sys %d", call.nr)
	if call.nr == sysClockNanosleep {
		key += " sleeps"
	}
	return machine.Stay{
		Kind: machine.Syscall, After: w.around(20 * machine.Microsecond), NR: call.nr, Args: call.args, Ret: call.ret,
		Code: w.pick(key), Wait: machine.Wait{Timeout: w.around(w.pace().Daemon), By: machine.Sleep},
		User: w.userAt(t, d.step%len(daemonCalls), int32(call.nr)),
	}
}
