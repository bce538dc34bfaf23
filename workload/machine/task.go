package machine

import "fmt"

// Task is a process, a thread or a kernel thread.
type Task struct {
	PID, TGID int
	Comm      string
	Prio      int // kernel priority: 120 is nice 0, below 100 is real time, -1 deadline
	Policy    Policy
	UID       int
	Kernel    bool // kernel thread: no user stack
	Parent    *Task
	User      UserRegs
	Memory    UserMemory
	Maps      []Mapping // what is mapped where, in order of addresses
	Starts    []Place   // of a new program: where it begins, in that order
	Private   any       // per-task data of the tracer (the shadow stack)
	Data      any       // per-task data of the workload

	born     Time
	state    int64 // as sched_switch reports it; StateRunning while it runs or waits for a CPU
	cpu      *CPU  // where it runs or last ran
	bound    bool  // runs on cpu only
	home     *CPU  // where a bound task goes when it is next woken; nil: it stays
	onRQ     bool
	exiting  bool
	stop     bool // of the stop class
	budget   budget
	ticks    int    // of SCHED_RR: since its turn began
	wakeSoon bool   // woken before it slept
	sleeps   uint64 // changes with every sleep and wake-up, so that a timer knows its own
	wait     Wait
	runtime  Time
	child    *Task // forked, not yet runnable

	program  func(c *CPU, t *Task) Stay // what it does, nil: what the workload says
	acts     []activation
	frames   []Frame
	stay     Stay // in progress
	next     Stay // what follows user space
	pending  bool // next is valid
	userLeft Time // time in user space before next
	inKernel bool // between UserEntry and UserExit
	returns  bool // from a system call
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

// RealTime and DeadlineTask say in which scheduling class t is; of one that is
// in neither, the fair one.
func (t *Task) RealTime() bool { return t.Prio >= 0 && t.Prio < maxRTPrio }

// DeadlineTask is RealTime for the deadline class.
func (t *Task) DeadlineTask() bool { return t.Prio < 0 }

// maxRTPrio is MAX_RT_PRIO: kernel priorities from there on are the fair class's.
const maxRTPrio = 100

// RTPrio is the kernel priority of a real-time task whose own is 1 to 99.
func RTPrio(priority int) int { return maxRTPrio - 1 - priority }

// RTPriority is the priority that sched_setscheduler was given: 1 to 99 for a
// real-time task, 0 for any other.
func (t *Task) RTPriority() int {
	if !t.RealTime() {
		return 0
	}
	return RTPrio(t.Prio)
}

// Nice is -20 to 19; a task that is not in the fair class has 0.
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
	StateIdle            = 0x80  // a kernel thread's sleep that is not load
	StatePreempted       = 0x100 // running, and switched out against its will
)

// UserRegs is where user space was when it entered the kernel.
type UserRegs struct{ IP, SP, FP uint64 }

// UserMemory is a task's user stack as words; Load fails outside of it.
type UserMemory interface {
	Load(addr uint64) (word uint64, ok bool)
}

// Mapping is a part of a task's address space (one line of /proc/PID/maps).
type Mapping struct {
	Start, End, Offset uint64
	Inode              uint64
	Path               string
}

// Place is a place in a file that a task has mapped.
type Place struct {
	File   uint64 // inode
	Offset uint64 // in the file
	Addr   uint64
}

// activation is kernel code in progress on behalf of a task, or of an
// interrupt that came while the task ran.
type activation struct {
	code  Code
	pc    int
	base  Op   // the processor's state underneath
	left  Time // what was left of the interrupted operation
	kind  actKind
	irq   Interrupt // of actInterrupt and actNMI
	asked Time      // of actNMI: when a handler was called
	wake  *Task     // woken by the code, not yet runnable
	next  *Task     // whom it wakes next, where that was asked (CPU.Wakee)
}

type actKind uint8

const (
	actStay actKind = iota
	actInterrupt
	actNMI
	actPreempt
	actBorn
)

// StartTime is when the task was made.
func (t *Task) StartTime() Time { return t.born }

// Runtime is how long the task has run until it was last switched out.
func (t *Task) Runtime() Time { return t.runtime }

// State is the task's state, one of State….
func (t *Task) State() int64 { return t.state }

// CPU is where the task runs or last ran; nil before it first does.
func (t *Task) CPU() *CPU { return t.cpu }

// Sleeping says whether the task waits to be woken, and for which class of event.
func (t *Task) Sleeping() (Wait, bool) {
	return t.wait, t.asleep()
}

// Bind makes a task that is bound to its CPU go to c when it is next woken.
func (t *Task) Bind(c *CPU) { t.home = c }

// Stay is the stay in the kernel that is in progress.
func (t *Task) Stay() *Stay { return &t.stay }

func newIdleTask(c *CPU) *Task {
	return &Task{Comm: fmt.Sprintf("swapper/%d", c.ID), Prio: 120, Kernel: true, cpu: c}
}

// TaskConfig describes a task to be added with Spawn.
type TaskConfig struct {
	Comm   string
	Prio   int // 0 means 120, or of a real-time policy 0
	Policy Policy
	UID    int
	Kernel bool
	Stop   bool // of the class that comes before all others (migration/N)
	CPU    int  // where it first runs
	PID    int  // 0 means the next free one
	// Foreign pids are given by somebody else: the machine's own go on below them.
	Foreign bool
	Parent  *Task // nil for none
	Thread  bool  // shares Parent's thread group
	Bound   bool  // runs on CPU only
	Born    Code  // what it executes first (ret_from_fork)
	Data    any
	Memory  UserMemory
	Maps    []Mapping
	// Next, if it is set, says what the task does instead of the workload's; the
	// same holds as for Workload.Next.
	Next   func(c *CPU, t *Task) Stay
	Asleep bool // starts sleeping with Wait instead of runnable
	Wait   Wait
}

// Spawn adds a task. It is runnable at once unless cfg.Asleep is set; inside
// the fork events of running code use c.Fork, which reports it. Where cfg.CPU is
// offline it runs on another, unless it is bound.
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
	}
	t := &Task{
		PID: pid, TGID: pid, Comm: cfg.Comm, Prio: cfg.Prio, Kernel: cfg.Kernel, Policy: cfg.Policy, UID: cfg.UID,
		Parent: cfg.Parent, Data: cfg.Data, Memory: cfg.Memory, Maps: cfg.Maps,
		born: m.now, cpu: m.cpus[cfg.CPU%len(m.cpus)], bound: cfg.Bound, stop: cfg.Stop, program: cfg.Next,
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

// pidMax is where pids start again, as with the kernel's default pid_max.
const pidMax = 32768

// reservedPIDs is where pids go on after pidMax (RESERVED_PIDS).
const reservedPIDs = 300

func (m *Machine) freePID() int {
	if len(m.tasks) >= pidMax-reservedPIDs {
		panic("machine: invariant: out of pids")
	}
	for {
		if m.nextPID >= pidMax {
			m.nextPID = reservedPIDs
		}
		if m.tasks[m.nextPID] == nil {
			return m.nextPID
		}
		m.nextPID++
	}
}
