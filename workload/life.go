package workload

import "ftracelab/machine"

// life is a process that runs through a script of the model.
type life struct {
	script  int
	pos     int
	stay    *ScriptStay // the stay that is in progress
	session int
	dead    bool
	loops   bool // at the end, the script starts again instead of exiting
	waited  bool // it has waited for a child since it last paused
}

// shells adds the processes that existed before the capture began. Each runs through
// its script again and again, and forks all other processes.
func (w *mix) shells() {
	if len(w.roots) == 0 {
		return
	}
	for i := range w.cfg.Shells {
		script := w.roots[i%len(w.roots)]
		w.add(machine.TaskConfig{
			Comm: w.model.Scripts[script].Comm, PID: firstPID(w.m) + 3*i, CPU: i, Asleep: true,
			Wait: machine.Wait{Timeout: 1 + w.around(w.pace().Pause)/2, By: machine.Sleep},
			Data: &life{script: script, session: i, loops: true},
		})
	}
}

func (w *mix) add(cfg machine.TaskConfig) *machine.Task {
	t := w.m.Spawn(cfg)
	w.adopt(t)
	return t
}

// adopt adds a new process to the list. One that nobody has forked gets its memory.
func (w *mix) adopt(t *machine.Task) {
	if t.Memory == nil {
		t.Memory = newUserStack()
	}
	w.tasks = append(w.tasks, t)
}

// fork makes the child that was forked in the capture during this stay.
func (w *mix) fork(c *machine.CPU, t *machine.Task, d *life) {
	if d.stay == nil || d.stay.Child < 0 {
		return
	}
	if len(w.tasks) >= maxTasks || t.DeadlineTask() {
		t.Stay().Ret = -eagain
		return
	}
	child := &w.model.Scripts[d.stay.Child]
	cfg := machine.TaskConfig{
		Comm: t.Comm, Prio: t.Prio, Policy: t.Policy, Thread: d.stay.Thread,
		Data: &life{script: d.stay.Child, session: d.session},
	}
	if child.Born >= 0 {
		cfg.Born = w.model.code(child.Born)
	}
	flags := d.stay.Args[0]
	if d.stay.NR != sysClone {
		flags = 0x3d0f00
	}
	forked := c.Fork(cfg, flags)
	t.Stay().Ret = int64(forked.PID)
	w.adopt(forked)
}

const eagain = 11

// System calls of x86-64 that need special care: the machine's processes make them on
// their own, their sleeps end in a special way, or they return a pid.
const (
	sysRead           = 0
	sysWrite          = 1
	sysClose          = 3
	sysNanosleep      = 35
	sysGetPID         = 39
	sysMmap           = 9
	sysRtSigprocmask  = 14
	sysAccess         = 21
	sysClone          = 56
	sysWait4          = 61
	sysFtruncate      = 77
	sysGetPPID        = 110
	sysGetTID         = 186
	sysSetTIDAddress  = 218
	sysExitGroup      = 231
	sysClockNanosleep = 230
)

// nextStay gives the next stay of a process in the kernel.
func (w *mix) nextStay(t *machine.Task, d *life) machine.Stay {
	sc := &w.model.Scripts[d.script]
	if d.pos >= len(sc.Stays) {
		d.pos = 0
		if !d.loops || len(sc.Stays) == 0 {
			return w.exitStay(t, d)
		}
		return w.pause(t, d)
	}
	s := &sc.Stays[d.pos]
	if d.waited && s.Child >= 0 && w.pace().Rest > 0 {
		d.waited = false
		return w.sleepOf(t, d, w.pace().Rest)
	}
	d.waited = d.loops && (d.waited || s.NR == sysWait4)
	d.pos++
	d.stay = s
	stay := machine.Stay{
		Kind: machine.Syscall, After: machine.Time(s.After) + w.compute(w.pace().Compute), NR: int64(s.NR), Args: s.Args, Ret: s.Ret,
		Code: w.model.code(s.Template), Wait: w.waitOf(s.NR),
	}
	switch s.NR {
	case sysGetPID:
		stay.Ret = int64(t.TGID)
	case sysGetTID, sysSetTIDAddress:
		stay.Ret = int64(t.PID)
	case sysGetPPID:
		if stay.Ret = 1; t.Parent != nil {
			stay.Ret = int64(t.Parent.TGID)
		}
	}
	if s.NR < 0 {
		stay.Kind = machine.PageFault
		stay.Address = 0x7f3be8000000 + uint64(d.pos)<<12
		stay.ErrorCode = []uint64{0x14, 0x6, 0x7, 0x4}[d.pos%4]
	}
	stay.User = w.userAt(t, d.pos, s.NR)
	return stay
}

// exitStay gives the last stay of a process whose script does not end with an exit.
func (w *mix) exitStay(t *machine.Task, d *life) machine.Stay {
	d.stay = nil
	code := w.pick(sleeps(sysExitGroup))
	return machine.Stay{
		Kind: machine.Syscall, After: 1000, NR: sysExitGroup, Code: code, User: w.userAt(t, 0, sysExitGroup),
	}
}

// pause gives the stay in which a shell waits for its user between two rounds.
func (w *mix) pause(t *machine.Task, d *life) machine.Stay { return w.sleepOf(t, d, w.pace().Pause) }

// sleepOf gives a stay in which a process sleeps.
func (w *mix) sleepOf(t *machine.Task, d *life, mean machine.Time) machine.Stay {
	d.stay = nil
	return machine.Stay{
		Kind: machine.Syscall, After: 1000, NR: sysClockNanosleep, Code: w.pick(sleeps(sysClockNanosleep)),
		Wait: machine.Wait{Class: 0, Timeout: w.around(mean), By: machine.Sleep},
		User: w.userAt(t, 0, sysClockNanosleep),
	}
}

// reap makes the pid of a task the result of its parent's wait, if the parent waits.
func reap(t *machine.Task) {
	if p := t.Parent; p != nil {
		if _, asleep := p.Sleeping(); asleep && p.Stay().NR == sysWait4 {
			p.Stay().Ret = int64(t.PID)
		}
	}
}

// waitOf says what ends a sleep in a system call.
//
// Departure: what a task really waits for is not modelled. Any wake-up of the right
// kind by a task of the same session ends the sleep, or else a timer.
func (w *mix) waitOf(nr int32) machine.Wait {
	switch nr {
	case sysWait4:
		return machine.Wait{Class: wakeParent, Timeout: 300 * machine.Millisecond, By: machine.Sleep}
	case sysNanosleep, sysClockNanosleep:
		return machine.Wait{Timeout: w.around(machine.Millisecond), By: machine.Sleep}
	}
	return machine.Wait{Class: wakeUser, Timeout: w.around(2 * machine.Millisecond), By: machine.Sleep}
}

// firstPID is the pid of the first shell. It is larger than those of the kernel
// threads.
func firstPID(m *machine.Machine) int { return max(200, 50+10*len(m.CPUs())) }
