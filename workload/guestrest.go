package workload

import (
	"maps"
	"slices"

	"ftracelab/machine"
)

// GuestState is what the process of a guest does while it makes none of the calls that are
// told of.
type GuestState struct {
	Waits bool // in a system call; otherwise it computes
	NR    int64
	Args  [6]uint64
}

// While the process of a guest computes, the guest does, in pieces that become longer: each
// time it is asked again what the process does.
const (
	minPiece = 100 * machine.Microsecond
	maxPiece = 4 * machine.Millisecond
)

// rest gives what a guest does that has nothing to do: what its process does.
//
// Departure: where that is not known, as of a process in a call of which the machine has no
// sleep, a process waits in wait4 and a thread in futex. A call in which a process waits
// although it was told of, as a read of trace_pipe, is made once more.
func (w *mix) rest(t *machine.Task, d *guest) machine.Stay {
	d.doing, d.computes = guestAct{}, false
	var now GuestState
	known := false
	if d.all.State != nil {
		now, known = d.all.State(d.pid)
	}
	if known && !now.Waits {
		d.computes = true
		d.piece = min(max(2*d.piece, minPiece), maxPiece)
		return machine.Stay{Kind: machine.KernelWork, After: d.piece, User: t.User}
	}
	d.piece = 0
	code := w.pick(sleeps(now.NR))
	if !known || code == nil {
		if now = (GuestState{NR: sysWait4}); d.leader != nil {
			now.NR = sysFutex
		}
		code = w.pick(sleeps(now.NR))
	}
	return machine.Stay{
		Kind: machine.Syscall, After: w.around(2 * machine.Microsecond), NR: now.NR, Args: now.Args, Code: code,
		Wait: machine.Wait{Class: wakeGuest}, User: w.userAt(t, int(now.NR), int32(now.NR)),
	}
}

// waiting are the calls that exist to wait, by their numbers on x86-64. For those of which no
// capture shows a sleep, there are the functions between the call and schedule.
//
// Departure: these functions are written by hand, without those that return before the sleep.
//
// Kernel: do_select, fs/select.c; do_epoll_wait, fs/eventpoll.c; sigsuspend, kernel/signal.c;
// kernel_waitid, kernel/exit.c; hrtimer_nanosleep, kernel/time/hrtimer.c.
var waiting = map[int64][]string{
	7: nil, 61: nil, 202: nil, 230: nil,
	23:  {"__x64_sys_select", "kern_select", "core_sys_select", "do_select", "schedule_hrtimeout_range_clock"},
	34:  {"__do_sys_pause"},
	35:  {"__x64_sys_nanosleep", "hrtimer_nanosleep", "do_nanosleep"},
	128: {"__x64_sys_rt_sigtimedwait", "do_sigtimedwait.isra.0", "schedule_hrtimeout_range_clock"},
	130: {"__x64_sys_rt_sigsuspend", "sigsuspend"},
	232: {"__x64_sys_epoll_wait", "do_epoll_wait", "schedule_hrtimeout_range_clock"},
	247: {"__x64_sys_waitid", "kernel_waitid", "do_wait"},
	270: {"__x64_sys_pselect6", "do_pselect.constprop.0", "core_sys_select", "do_select", "schedule_hrtimeout_range_clock"},
	271: {"__x64_sys_ppoll", "do_sys_poll", "schedule_hrtimeout_range_clock"},
	281: {"__x64_sys_epoll_pwait", "do_compat_epoll_pwait.part.0", "do_epoll_wait", "schedule_hrtimeout_range_clock"},
}

// GuestWaits reports whether a system call exists to wait.
func GuestWaits(nr int64) bool {
	_, ok := waiting[nr]
	return ok
}

// waitCode adds the code of the calls in waiting.
func (w *mix) waitCode(m *machine.Machine) error {
	for _, nr := range slices.Sorted(maps.Keys(waiting)) {
		functions := waiting[nr]
		if functions == nil || w.codes[sleeps(nr)] != nil {
			continue
		}
		code, err := m.Assemble(120, func(a *machine.Assembler) {
			a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("x64_sys_call")
			for _, name := range functions {
				a.Call(name)
			}
			a.Call("schedule").State(0, 1, 0).Hide("__schedule").State(machine.FlagIRQsOff, 1, 0).Switch(machine.StateInterruptible)
			a.State(0, 1, 0).Return(1).State(0, 0, 0).Return(1 + len(functions)).Return(3)
		})
		if err != nil {
			return err
		}
		w.codes[sleeps(nr)] = only(w.crossing(code))
	}
	return nil
}
