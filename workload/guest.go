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
// another order than that in which they were told. Between two calls a guest does what its
// process does (State): it computes, or it waits. Where the caller does not know the
// arguments of a call (Syscall.Known), all but its path and size are made up.
type Guests struct {
	// Starts tells where a program begins to run, for probes in user space; nil: that
	// is not known.
	Starts func(path string) []machine.Place

	// State tells what the process of a guest does at this moment; nil: nobody knows. It is
	// called while the machine runs.
	State func(pid int) (now GuestState, known bool)

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
	ends    bool // see Exit
	dead    bool
	busy    bool

	computes bool         // see rest
	piece    machine.Time // that it computes at a time
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
	if err := errors.Join(w.guestCode(m), w.waitCode(m)); err != nil {
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

// Rename lets a guest give itself another name, with prctl(2).
func (g *Guests) Rename(pid int, comm string) {
	if d := g.byPID[pid]; d != nil {
		d.comm = comm
	}
	g.note(pid, guestAct{kind: guestRename, comm: comm, Syscall: Syscall{Path: comm}})
}

// Exec lets a guest execute another program, call.Path, which is scheduled under policy
// with the kernel priority prio. Normal and 0 leave the scheduling as it is.
func (g *Guests) Exec(pid int, comm string, call Syscall, policy machine.Policy, prio int) {
	if d := g.byPID[pid]; d != nil {
		d.comm = comm
	}
	g.note(pid, guestAct{kind: guestExec, comm: comm, Syscall: call, policy: policy, prio: prio})
}

// Exit lets a guest end: a process after those of its threads that were to end before.
func (g *Guests) Exit(pid int) {
	act := guestAct{kind: guestExit}
	if d := g.byPID[pid]; d != nil {
		d.ends = true
		for _, o := range g.byPID {
			if o.leader == d && o.ends {
				act.after = append(act.after, o)
			}
		}
	}
	g.note(pid, act)
}

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
		} else if d.computes {
			d.task.Hurry()
		}
	}
	clear(g.busy[len(kept):])
	g.busy = kept
	return len(kept) > 0
}

// Changing reports whether a guest still has to fork, to execute another program, or to
// end.
func (g *Guests) Changing() bool { return g.changes > 0 }

// resting reports whether the guest sleeps or computes until there is something to do.
func (d *guest) resting() bool {
	if d.task == nil {
		return false
	}
	_, asleep := d.task.Sleeping()
	return asleep || d.computes
}
