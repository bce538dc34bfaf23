package workload

import (
	"errors"
	"fmt"

	"ftracelab/machine"
)

// Guests are tasks that stand for processes outside of the simulation: programs of the
// host that use the tracefs. What they do there, and their forks, execs and exits,
// become stays in the simulated kernel. So a trace shows these programs, with the pids
// that they have themselves.
//
//	shell 4711 forks 4712     Fork(4711, 4712)      sys_clone, sched_process_fork, …
//	4712 becomes "sleep"      Exec(4712, …)         sys_execve, sched_process_exec, …
//	4711 writes 6 bytes       Call(4711, write, 6)  sys_write
//
// The methods note what a guest has to do. The guest does it when the machine runs.
// Call them between two runs.
//
// Departure: a guest makes only the system calls about which a caller of these methods
// tells. They happen before their results are known, and those of two guests may happen in
// another order than that in which they were told. Where the caller does not know the
// arguments of a call (Syscall.Known), all but its path and size are made up.
type Guests struct {
	// Starts tells where a program begins to run, for probes in user space; nil: that
	// is not known.
	Starts func(path string) []machine.Place

	w     *mix
	byPID map[int]*guest
	busy  []*guest // the guests with something to do, in the order in which they got it

	changes   int          // how many forks, execs and exits are still to come
	procWrite machine.Code // see WriteProc
}

// MaxGuests is how many processes and threads can be guests at a time. Further ones do not
// appear.
const MaxGuests = 200

// guest is the task of a process of the host, or of one of its threads.
type guest struct {
	all     *Guests
	pid     int
	leader  *guest // of a thread: its process
	comm    string
	task    *machine.Task // nil until its parent has forked it
	allowed *machine.CPU  // see Allow
	acts    []guestAct
	doing   guestAct
	dead    bool
	busy    bool
}

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

// Calls reports whether guests can make the system call with this number: the machine has
// the code of it.
func (g *Guests) Calls(nr int64) bool { return len(g.w.codes[fmt.Sprintf("sys %d", nr)]) > 0 }

// maxGuestActs is how much a guest can still have to do. If a process does more than
// the machine has time for, a part of it is not shown.
const maxGuestActs = 256

// NewGuests returns the guests of a machine that runs the learned workload.
func NewGuests(m *machine.Machine) (*Guests, error) {
	w, ok := m.Workload().(*mix)
	if !ok {
		return nil, errors.New("workload: this machine has no place for guests")
	}
	code, err := assembleProcWrite(m)
	if err != nil {
		return nil, err
	}
	if err := w.guestCode(m); err != nil {
		return nil, err
	}
	return &Guests{w: w, byPID: map[int]*guest{}, procWrite: code}, nil
}

// Known reports whether a process is a guest.
func (g *Guests) Known(pid int) bool { return g.byPID[pid] != nil }

// Comm is the name of the program that a guest runs once it has done everything that
// was noted; "" if pid is no guest.
func (g *Guests) Comm(pid int) string {
	if d := g.byPID[pid]; d != nil {
		return d.comm
	}
	return ""
}

// PIDs calls visit with the pid of every guest, in no order.
func (g *Guests) PIDs(visit func(pid int)) {
	for pid := range g.byPID {
		visit(pid)
	}
}

// free reports whether a new guest may have that pid. No simulated task has the pid of a
// guest on a machine with machine.Config.Foreign.
func (g *Guests) free(pid int) bool {
	return pid > 0 && g.byPID[pid] == nil && len(g.byPID) < MaxGuests && g.w.m.Task(pid) == nil
}

// Add makes a guest of a process that has existed for some time. It begins in a sleep.
func (g *Guests) Add(pid int, comm string, parent int) {
	if !g.free(pid) {
		return
	}
	d := g.add(pid, comm)
	d.spawn(g.byPID[parent])
}

// AddThread makes a guest of a thread of a guest that has existed for some time.
func (g *Guests) AddThread(pid int, comm string, process int) {
	p := g.byPID[process]
	if p == nil || p.leader != nil || !g.free(pid) {
		return
	}
	d := g.add(pid, comm)
	d.leader = p
	d.spawn(p)
}

// spawn begins the task of a guest, which sleeps.
func (d *guest) spawn(parent *guest) {
	cfg := d.config(0)
	cfg.Asleep, cfg.Wait = true, machine.Wait{Class: wakeGuest}
	if parent != nil {
		cfg.Parent = parent.task
	}
	d.task = d.all.w.m.Spawn(cfg)
	d.task.Memory = newUserStack()
}

func (g *Guests) add(pid int, comm string) *guest {
	d := &guest{all: g, pid: pid, comm: comm}
	g.byPID[pid] = d
	return d
}

func (d *guest) config(prio int) machine.TaskConfig {
	return machine.TaskConfig{
		Comm: d.comm, Prio: prio, PID: d.pid, Foreign: true, Data: d, CPU: d.pid % len(d.all.w.m.CPUs()),
		Allowed: d.allowed, Thread: d.leader != nil,
	}
}

// Call lets a guest make a system call.
func (g *Guests) Call(pid int, call Syscall) {
	g.note(pid, guestAct{kind: guestCall, Syscall: call})
}

// Fork lets a guest fork another guest.
func (g *Guests) Fork(parent, child int) {
	p := g.byPID[parent]
	if p == nil || !g.free(child) {
		return
	}
	g.note(parent, guestAct{kind: guestFork, child: g.add(child, p.comm)})
}

// Thread lets a guest begin a thread, which is a guest of its own.
//
// Departure: the first thread of a process begins all the others.
func (g *Guests) Thread(process, thread int) {
	p := g.byPID[process]
	if p == nil || p.leader != nil || !g.free(thread) {
		return
	}
	d := g.add(thread, p.comm)
	d.leader = p
	g.note(process, guestAct{kind: guestFork, child: d})
}

// Process is the pid of the process that a guest belongs to: its own unless it is a thread.
func (g *Guests) Process(pid int) int {
	if d := g.byPID[pid]; d != nil && d.leader != nil {
		return d.leader.pid
	}
	return pid
}

// Rename gives a guest another name, as prctl(2) does.
//
// Departure: there is no event task_rename.
func (g *Guests) Rename(pid int, comm string) {
	if d := g.byPID[pid]; d != nil {
		d.comm = comm
	}
	g.note(pid, guestAct{kind: guestRename, comm: comm})
}

// Exec lets a guest execute another program, call.Path, which is scheduled under policy
// with the kernel priority prio. Normal and 0 leave the scheduling as it is.
func (g *Guests) Exec(pid int, comm string, call Syscall, policy machine.Policy, prio int) {
	if d := g.byPID[pid]; d != nil {
		d.comm = comm
	}
	g.note(pid, guestAct{kind: guestExec, comm: comm, Syscall: call, policy: policy, prio: prio})
}

// Exit lets a guest end.
func (g *Guests) Exit(pid int) { g.note(pid, guestAct{kind: guestExit}) }

// Allow lets a guest, and what it forks from then on, run on one CPU only, or on every CPU
// if the machine has none with this number.
func (g *Guests) Allow(pid, cpu int) {
	d := g.byPID[pid]
	if d == nil {
		return
	}
	d.allowed = nil
	if cpus := g.w.m.CPUs(); cpu >= 0 && cpu < len(cpus) {
		d.allowed = cpus[cpu]
	}
	if d.task != nil {
		d.task.Allow(d.allowed)
	}
}

func (g *Guests) note(pid int, act guestAct) {
	d := g.byPID[pid]
	if d == nil || len(d.acts) >= maxGuestActs && act.kind != guestFork && act.kind != guestExit {
		return
	}
	d.acts = append(d.acts, act)
	if act.changes() {
		g.changes++
	}
	if !d.busy {
		d.busy = true
		g.busy = append(g.busy, d)
	}
}

// Wake wakes the sleeping guests that have something to do. It reports whether any
// guest has something to do.
func (g *Guests) Wake() bool {
	kept := g.busy[:0]
	for _, d := range g.busy {
		if len(d.acts) == 0 && d.resting() || d.dead {
			d.busy = false
			continue
		}
		kept = append(kept, d)
		if d.task == nil || len(d.acts) == 0 {
			continue
		}
		if wait, asleep := d.task.Sleeping(); asleep && wait.Class == wakeGuest {
			d.task.CPU().Interrupt(machine.Interrupt{Kind: machine.Sleep, Task: d.task})
		}
	}
	clear(g.busy[len(kept):])
	g.busy = kept
	return len(kept) > 0
}

// Changing reports whether a guest still has to fork, to execute another program, or to
// end.
func (g *Guests) Changing() bool { return g.changes > 0 }

// resting reports whether the guest sleeps and has nothing to do.
func (d *guest) resting() bool {
	if d.task == nil {
		return false
	}
	_, asleep := d.task.Sleeping()
	return asleep
}

// nextGuest gives the next stay of a guest in the kernel.
func (w *mix) nextGuest(t *machine.Task, d *guest) machine.Stay {
	stay := machine.Stay{Kind: machine.Syscall, After: w.around(2 * machine.Microsecond), Wait: machine.Wait{Class: wakeGuest}}
	for len(d.acts) > 0 && stay.Code == nil {
		d.doing = d.acts[0]
		d.acts = d.acts[1:]
		if d.doing.kind == guestRename {
			t.Comm = d.doing.comm
			continue
		}
		stay.NR, stay.Ret = d.call(), d.doing.Ret
		stay.Code = w.pick(fmt.Sprintf("sys %d", stay.NR))
		switch d.doing.kind {
		case guestExit:
			stay.Code = w.pick(fmt.Sprintf("sys %d sleeps", stay.NR))
		case guestWriteProc:
			stay.Code = w.onFile(stay.Code, d.all.procWrite)
		}
	}
	if stay.Code == nil {
		d.doing = guestAct{}
		stay.NR, stay.Ret = sysWait4, 0
		switch {
		case d.leader != nil:
			stay.NR = sysFutex
		case t.Comm == "sleep":
			stay.NR = sysClockNanosleep
		}
		stay.Code = w.pick(fmt.Sprintf("sys %d sleeps", stay.NR))
	}
	stay.Args = d.doing.args(stay.NR)
	stay.User = w.userAt(t, int(stay.NR), int32(stay.NR))
	return stay
}

// changes reports whether an act is a fork, exec or exit.
func (a guestAct) changes() bool {
	return a.kind == guestFork || a.kind == guestExec || a.kind == guestExit
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
	sysGetdents64 = 217
	sysClone3     = 435
)

// System calls of threads.
const (
	sysExit  = 60
	sysFutex = 202
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
	if wait, asleep := p.Sleeping(); !asleep || wait.Class != wakeGuest {
		return nil
	}
	return p
}
