package machine

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Task is a process, a thread or a kernel thread.
type Task struct {
	PID, TGID int
	Comm      string
	Prio      int // kernel priority: 120 is nice 0, 0 to 99 are real-time, -1 is deadline
	Policy    Policy
	UID       int
	Kernel    bool // kernel thread: no user stack
	Compat    bool // its program has words of 32 bits (i386)
	Parent    *Task
	User      UserRegs
	Memory    UserMemory
	Maps      []Mapping // what is mapped, sorted by address
	Starts    []Place   // after an exec: the places that the new program passes when it starts, in that order
	Stepped   bool      // its program is executed instruction by instruction, see Hooks.Probed
	Private   any       // the tracer's data for the task (the shadow stack)
	Data      any       // the workload's data for the task

	born     Time
	state    int64 // one of State…; StateRunning while it runs or waits for a CPU
	cpu      *CPU  // where it runs or last ran
	bound    bool  // it runs on cpu only
	home     *CPU  // the CPU to which a bound task moves when it is next woken; nil: it stays
	allowed  *CPU  // the only CPU on which it may run; nil: on every CPU
	onRQ     bool
	exiting  bool
	stop     bool // it is in the stop class
	budget   budget
	ticks    int    // for SCHED_RR: how many ticks its turn has lasted
	wakeSoon bool   // it was woken before it slept
	leaving  bool   // it is the current task of its CPU, which is about to switch to another one
	deferred bool   // it was woken while it was leaving
	sleeps   uint64 // changes at every sleep and wake-up, so that a timer recognizes the sleep that it ends
	wait     Wait
	runtime  Time
	out      Time  // when the task was switched out last
	child    *Task // was forked and is not runnable yet

	program  func(c *CPU, t *Task) Stay // what the task does; nil: the workload says it
	acts     []activation
	frames   []Frame
	stay     Stay // in progress
	next     Stay // the stay that follows
	pending  bool // next is valid
	userLeft Time // time in user space before next
	inKernel bool // between UserEntry and UserExit
	returns  bool // it returns from a system call
}

// Policy is a scheduling policy, SCHED_NORMAL and so on.
type Policy uint8

// The policies, with the numbers of include/uapi/linux/sched.h.
const (
	Normal Policy = iota
	FIFO
	RR
	Batch
	IdlePolicy Policy = 5
	Deadline   Policy = 6
)

// RealTime reports whether t is in the real-time class. A task that is neither there
// nor in the deadline class is in the fair class.
func (t *Task) RealTime() bool { return t.Prio >= 0 && t.Prio < maxRTPrio }

// DeadlineTask reports whether t is in the deadline class.
func (t *Task) DeadlineTask() bool { return t.Prio < 0 }

// maxRTPrio is MAX_RT_PRIO. Kernel priorities from there on belong to the fair class.
const maxRTPrio = 100

// RTPrio gives the kernel priority of a real-time task whose user priority is 1 to 99.
func RTPrio(priority int) int { return maxRTPrio - 1 - priority }

// RTPriority is the user priority, as given to sched_setscheduler: 1 to 99 for a
// real-time task, 0 for any other.
func (t *Task) RTPriority() int {
	if !t.RealTime() {
		return 0
	}
	return RTPrio(t.Prio)
}

// Nice is the nice value, -20 to 19; 0 for a task that is not in the fair class.
func (t *Task) Nice() int {
	if t.Prio < maxRTPrio {
		return 0
	}
	return t.Prio - maxRTPrio - 20
}

// Task states as sched_switch's prev_state reports them.
const (
	StateRunning         = 0
	StateInterruptible   = 1
	StateUninterruptible = 2
	StateDead            = 0x10
	StateZombie          = 0x20
	StateIdle            = 0x80  // the sleep of a kernel thread that does not count as load
	StatePreempted       = 0x100 // the task was running and was switched out against its will
)

// UserRegs tells where user space was when it entered the kernel.
type UserRegs struct{ IP, SP, FP uint64 }

// UserMemory is a task's user stack as words; Load fails outside of it.
type UserMemory interface {
	Load(addr uint64) (word uint64, ok bool)
}

// ForkedMemory is memory of which a child gets a copy. A child of a task with another
// memory has none.
type ForkedMemory interface {
	UserMemory
	// Fork returns a copy that shares nothing with the memory.
	Fork() UserMemory
}

// PagedMemory is memory of which parts may be swapped out; Load fails there.
type PagedMemory interface {
	UserMemory
	// PageIn brings all parts back, as a task that may wait for them can.
	PageIn()
}

// Program is what lies in a task's memory when it begins a program, and its registers.
type Program struct {
	Memory UserMemory
	Maps   []Mapping // sorted by address
	User   UserRegs
	Compat bool
}

// Mapping is a part of a task's address space (one line of /proc/PID/maps).
type Mapping struct {
	Start, End, Offset uint64
	Inode              uint64 // 0: no file
	Dev                uint32 // of the file: major<<20 | minor
	Path               string
}

// At is what a mapping has at an address: the offset in its file. Memory without a file is
// named by the address itself, except for what the kernel maps on its own, such as [vdso].
//
// Kernel: vm_pgoff of struct vm_area_struct, which counts from address 0 for private memory
// without a file.
func (m *Mapping) At(addr uint64) uint64 {
	if m.Inode == 0 && !strings.HasPrefix(m.Path, "[v") {
		return addr
	}
	return addr - m.Start + m.Offset
}

// Mapping returns what t has mapped at an address; nil if that is nothing.
//
// Kernel: vma_lookup, include/linux/mm.h.
func (t *Task) Mapping(addr uint64) *Mapping {
	n := sort.Search(len(t.Maps), func(n int) bool { return t.Maps[n].End > addr })
	if n == len(t.Maps) || t.Maps[n].Start > addr {
		return nil
	}
	return &t.Maps[n]
}

// Place is a place in a file that a task has mapped.
type Place struct {
	File   uint64 // inode
	Offset uint64 // in the file
	Addr   uint64
	Insn   [4]byte // how its instruction begins; 0: that is not known
}

// activation is kernel code in progress, for a task or for an interrupt that came while
// the task ran.
type activation struct {
	code  Code
	pc    int
	pace  uint16 // how fast the code runs this time, see pace.draw; 0: not drawn yet, or exact
	exact bool   // its steps take exactly their Deltas, without stalls
	base  Op     // the processor's state in the activation below
	left  Time   // how much time was left until the next step of the interrupted code
	kind  actKind
	irq   Interrupt // for actInterrupt and actNMI
	asked Time      // for actNMI: when a handler was called
	wake  *Task     // the code is waking this task, which is not runnable yet
	next  *Task     // the task that it wakes next, if CPU.Wakee has asked for that
}

type actKind uint8

const (
	actStay actKind = iota
	actInterrupt
	actNMI
	actPreempt
	actSwitch // inside __schedule
	actBorn
)

// Stopper reports whether the task is in the class that runs before all others
// (migration/N).
func (t *Task) Stopper() bool { return t.stop }

// StartTime is when the task was made.
func (t *Task) StartTime() Time { return t.born }

// Runtime is how long the task has run until it was last switched out.
func (t *Task) Runtime() Time { return t.runtime }

// State is the task's state, one of State….
func (t *Task) State() int64 { return t.state }

// Exiting says that the task is on its way out (PF_EXITING).
func (t *Task) Exiting() bool { return t.exiting }

// CPU is where the task runs or last ran; nil before it first does.
func (t *Task) CPU() *CPU { return t.cpu }

// Sleeping reports whether the task waits to be woken, and for what.
func (t *Task) Sleeping() (Wait, bool) {
	return t.wait, t.asleep()
}

// Bind makes a task that is bound to its CPU go to c when it is next woken.
func (t *Task) Bind(c *CPU) { t.home = c }

// Allow lets a task run only on c, as sched_setaffinity does, or on every CPU if c is nil.
// What it forks may run there, too. While c is offline, the task runs on another CPU.
//
// Departure: a task that runs in the kernel on another CPU moves when it leaves the kernel or
// the CPU. No migration thread takes it away.
//
// Kernel: __set_cpus_allowed_ptr, kernel/sched/core.c.
func (t *Task) Allow(c *CPU) {
	t.allowed = c
	at := t.cpu
	switch {
	case at.keeps(t):
	case t.onRQ:
		at.rq = slices.DeleteFunc(at.rq, func(waits *Task) bool { return waits == t })
		t.onRQ, at.Time = false, max(at.Time, at.m.now)
		at.moveAway(t)
	case at.Current == t && !at.kicked:
		at.NeedResched, at.kicked = true, true
		at.Interrupt(Interrupt{At: at.m.now + ipiLatency, Kind: Reschedule})
	}
}

// Hurry ends the time that t still computes in user space before its next stay in the
// kernel. It is to be called between two runs of the machine.
func (t *Task) Hurry() {
	if !t.pending {
		return // it is in that stay
	}
	t.userLeft = 1
	c := t.cpu
	switch {
	case len(t.acts) > 0:
		if a := &t.acts[0]; (a.kind == actInterrupt || a.kind == actNMI) && a.irq.From == InUser {
			a.left = 1
		}
	case c.Current == t:
		c.opDue = min(c.opDue, max(c.Time, c.m.now)+1)
		c.touch()
	}
}

// Stay is the stay in the kernel that is in progress.
func (t *Task) Stay() *Stay { return &t.stay }

func newIdleTask(c *CPU) *Task {
	return &Task{Comm: fmt.Sprintf("swapper/%d", c.ID), Prio: 120, Kernel: true, cpu: c}
}

// TaskConfig describes a task that Spawn adds.
type TaskConfig struct {
	Comm   string
	Prio   int // 0 means 120; for a real-time policy it means 0
	Policy Policy
	UID    int
	Kernel bool
	Stop   bool // the task is in the class that runs before all others (migration/N)
	CPU    int  // where it runs first
	PID    int  // 0 means the next free one
	// Foreign says that PID comes from outside of the machine. The pids that the machine
	// chooses do not go on from there.
	Foreign bool
	Parent  *Task // nil: it has none
	Thread  bool  // the task is in the thread group of Parent
	Bound   bool  // the task runs on CPU only
	Allowed *CPU  // the only CPU on which it may run, see Task.Allow; nil: as its parent that forks it, or every CPU
	Born    Code  // the code that it executes first (ret_from_fork)
	Data    any
	Memory  UserMemory
	Maps    []Mapping
	// Next, if it is not nil, is called instead of Workload.Next.
	Next   func(c *CPU, t *Task) Stay
	Asleep bool // the task is not runnable at first: it sleeps with Wait
	Wait   Wait
}

// Spawn adds a task. The task is runnable at once, unless cfg.Asleep is set. If cfg.CPU
// is offline, a task that is not bound runs on another CPU. For a fork by running code,
// use c.Fork, which reports it.
func (m *Machine) Spawn(cfg TaskConfig) *Task {
	t := m.newTask(cfg)
	if t.cpu.presence != present && !t.bound {
		t.cpu = t.cpu.target(t)
	}
	c := t.cpu
	if cfg.Asleep {
		t.state = StateInterruptible
		c.sleep(t, cfg.Wait)
		return t
	}
	c.enqueue(t)
	c.kick(c)
	return t
}

func (m *Machine) newTask(cfg TaskConfig) *Task {
	pid := cfg.PID
	if pid == 0 {
		pid = m.freePID()
	}
	if !cfg.Foreign {
		m.nextPID = max(m.nextPID, pid+1)
		pid = m.number(pid)
	}
	t := &Task{
		PID: pid, TGID: pid, Comm: cfg.Comm, Prio: cfg.Prio, Kernel: cfg.Kernel, Policy: cfg.Policy, UID: cfg.UID,
		Parent: cfg.Parent, Data: cfg.Data, Memory: cfg.Memory, Maps: cfg.Maps,
		born: m.now, cpu: m.cpus[cfg.CPU%len(m.cpus)], bound: cfg.Bound, allowed: cfg.Allowed, stop: cfg.Stop, program: cfg.Next,
	}
	switch {
	case t.Policy == Deadline:
		t.Prio = -1
	case t.Prio == 0 && t.Policy != FIFO && t.Policy != RR:
		t.Prio = 120
	}
	if cfg.Thread && cfg.Parent != nil {
		t.TGID = cfg.Parent.TGID
	}
	if len(cfg.Born) > 0 {
		t.acts = append(t.acts, activation{code: cfg.Born, kind: actBorn})
		t.inKernel = !t.Kernel
	}
	m.tasks[pid] = t
	return t
}

// pidMax is the limit of pids, after which they start again; it is the kernel's default
// pid_max.
const pidMax = 32768

// reservedPIDs is the pid with which they start again (RESERVED_PIDS).
const reservedPIDs = 300

// number gives the pid of the task that is the machine's pid-th, so that no foreign task
// can have it.
func (m *Machine) number(pid int) int {
	if pid >= m.cfg.Foreign.First {
		return m.cfg.Foreign.Limit + pid
	}
	return pid
}

// PIDLimit is larger than the pid of every task, now and later; the kernel calls it pid_max.
func (m *Machine) PIDLimit() int { return m.number(pidMax) }

// freePID gives a pid that is free, before number.
func (m *Machine) freePID() int {
	if len(m.tasks) >= pidMax-reservedPIDs {
		panic("machine: invariant: out of pids")
	}
	for {
		if m.nextPID >= pidMax {
			m.nextPID = reservedPIDs
		}
		if m.tasks[m.number(m.nextPID)] == nil {
			return m.nextPID
		}
		m.nextPID++
	}
}
