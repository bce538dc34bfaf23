package workload

import (
	"fmt"
	"slices"

	"ftracelab/machine"
)

type guestKind uint8

const (
	guestCall guestKind = iota
	guestWriteProc
	guestFork
	guestExec
	guestRename
	guestExit
)

// guestAct is one thing to do.
type guestAct struct {
	Syscall
	kind   guestKind
	child  *guest
	after  []*guest // must have ended before
	comm   string
	policy machine.Policy
	prio   int
}

// Syscall is a system call of a guest.
type Syscall struct {
	NR, Ret int64
	Size    int    // bytes asked for
	Path    string // the file that it is about
	Target  string // the second path of a call that has two: what a link points to, the old name
	// Args are the arguments, if they are Known. PathAt and TargetAt then say where in the
	// memory of the process the two paths lie; 0 if an argument does not point there.
	Known            bool
	Args             [6]uint64
	PathAt, TargetAt uint64
}

// nextGuest gives the next stay of a guest in the kernel.
func (w *mix) nextGuest(t *machine.Task, d *guest) machine.Stay {
	stay := machine.Stay{Kind: machine.Syscall, After: w.around(2 * machine.Microsecond), Wait: machine.Wait{Class: wakeGuest}}
	d.computes = false
	for len(d.acts) > 0 && stay.Code == nil {
		if !d.acts[0].ready() {
			return machine.Stay{Kind: machine.KernelWork, After: minPiece, User: t.User}
		}
		d.doing = d.acts[0]
		d.acts = d.acts[1:]
		stay.NR, stay.Ret = d.call(), d.doing.Ret
		stay.Code = w.pick(fmt.Sprintf("sys %d", stay.NR))
		switch d.doing.kind {
		case guestExit:
			stay.Code = w.pick(sleeps(stay.NR))
		case guestCall:
			// If it is the last call that is known, the process is still in it.
			if asleep := w.pick(sleeps(stay.NR)); len(d.acts) == 0 && GuestWaits(stay.NR) && asleep != nil {
				stay.Code = asleep
			}
		case guestRename:
			stay.Code = w.pick(renames)
			stay.Probe = func(c *machine.CPU) { c.Rename(d.doing.comm) }
		case guestWriteProc:
			stay.Code = w.onFile(stay.Code, d.all.procWrite)
		}
	}
	if stay.Code == nil {
		return w.rest(t, d)
	}
	stay.Args = d.doing.args(stay.NR)
	stay.User = w.userAt(t, int(stay.NR), int32(stay.NR))
	return stay
}

// changes reports whether an act is a fork, exec or exit.
func (a guestAct) changes() bool {
	return a.kind == guestFork || a.kind == guestExec || a.kind == guestExit
}

// ready reports whether all guests have ended that have to end before.
func (a guestAct) ready() bool {
	return !slices.ContainsFunc(a.after, func(o *guest) bool { return !o.dead })
}

// call gives the number of the system call for what a guest does now.
//
// Departure: a thread whose process ends calls exit here. In the kernel it makes no call.
func (d *guest) call() int64 {
	switch a := &d.doing; a.kind {
	case guestFork:
		if a.child != nil && a.child.leader != nil {
			return sysClone3
		}
		return sysClone
	case guestExec:
		return sysExecve
	case guestExit:
		if d.leader != nil {
			return sysExit
		}
		return sysExitGroup
	case guestRename:
		return sysPrctl
	default:
		return a.NR
	}
}

// Where the arguments of a guest lie in its memory: the buffer that it reads to or
// writes from, and paths.
const (
	guestBuffer = 0x55555565f2a0
	guestPath   = 0x555555663010
	guestTarget = guestPath + 0x1000
	guestFD     = 3 // the descriptor of the first file that a program opens
	atFDCWD     = ^uint64(100 - 1)
	prSetName   = 15 // PR_SET_NAME
)

// args gives the arguments of the system call for an act.
func (a *guestAct) args(nr int64) (args [6]uint64) {
	if a.Known {
		return a.Args
	}
	a.PathAt, a.TargetAt = guestPath, guestTarget
	switch nr {
	case sysRead, sysWrite, sysGetdents64:
		args = [6]uint64{guestFD, guestBuffer, uint64(a.Size)}
	case sysOpenat:
		args = [6]uint64{atFDCWD, guestPath}
	case sysChdir, sysRmdir, sysExecve:
		args = [6]uint64{guestPath}
	case sysMkdir:
		args = [6]uint64{guestPath, 0o777}
	case sysClose:
		args = [6]uint64{guestFD}
	case sysPrctl:
		args = [6]uint64{prSetName, guestPath}
	case sysSymlink:
		args = [6]uint64{guestTarget, guestPath}
	}
	return args
}

// pathAt gives the path at an address in the memory of the guest.
func (a *guestAct) pathAt(addr uint64) string {
	switch addr {
	case 0:
	case a.PathAt:
		return a.Path
	case a.TargetAt:
		return a.Target
	}
	return ""
}

// System calls that only guests make.
const (
	sysExecve     = 59
	sysChdir      = 80
	sysMkdir      = 83
	sysRmdir      = 84
	sysSymlink    = 88
	sysPrctl      = 157
	sysGetdents64 = 217
	sysClone3     = 435
)

// System calls of threads, and with which a process waits for another.
const (
	sysExit   = 60
	sysFutex  = 202
	sysWaitid = 247
)

// guestEvent carries out an act at the step of the kernel's code at which it happens.
func (w *mix) guestEvent(c *machine.CPU, d *guest, e machine.Event) {
	switch {
	case e == machine.EvSchedFork && d.doing.kind == guestFork && d.doing.child != nil:
		child := d.doing.child
		d.doing.child = nil
		d.all.changes--
		cfg := child.config(d.task.Prio)
		if cfg.Policy = d.task.Policy; d.task.DeadlineTask() { // such a task can fork only with reset-on-fork
			cfg.Policy, cfg.Prio = machine.Normal, 0
		}
		cfg.Comm, cfg.Born = d.task.Comm, w.pick("born")
		child.task = c.Fork(cfg, child.cloneFlags())
		d.task.Stay().Ret = int64(child.pid)
	case e == machine.EvSchedExec && d.doing.kind == guestExec:
		if d.doing.prio > 0 || d.doing.policy != machine.Normal {
			d.task.Policy, d.task.Prio = d.doing.policy, d.doing.prio
		}
		if d.all.Starts != nil && w.m.Hooks.User != nil {
			d.task.Starts = d.all.Starts(d.doing.Path)
		}
		c.Exec(d.doing.comm, d.doing.Path)
		d.all.changes--
	case e == machine.EvSchedExit:
		d.die()
		reap(d.task)
	}
}

// cloneFlags are those with which the C library begins a process or a thread.
func (d *guest) cloneFlags() uint64 {
	if d.leader != nil {
		return 0x3d0f00
	}
	return 0x1200011
}

// die ends a guest and forgets what it still had to do.
func (d *guest) die() {
	if d.doing.kind == guestExit {
		d.all.changes--
	}
	d.dead = true
	delete(d.all.byPID, d.pid)
	for _, act := range d.acts {
		if act.changes() {
			d.all.changes--
		}
		if act.child != nil && act.child.task == nil {
			act.child.die()
		}
	}
	d.acts = nil
}

// parentOf gives a guest that waits for a child which has ended.
func (d *guest) parentOf() *machine.Task {
	if !d.dead || d.task == nil || d.leader != nil {
		return nil
	}
	p := d.task.Parent
	if p == nil {
		return nil
	}
	if wait, asleep := p.Sleeping(); !asleep || wait.Class != wakeGuest || p.Stay().NR != sysWait4 && p.Stay().NR != sysWaitid {
		return nil
	}
	return p
}
