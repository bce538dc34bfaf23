package unwind

import (
	"fmt"
	"math/bits"
	"syscall"

	"ftracelab/machine"
	"ftracelab/unwind/cookie"
	"ftracelab/unwind/user"
)

// MaxEntries is the greatest depth of a deferred stack: the entries that fit into one
// page with its header.
//
// Kernel: UNWIND_MAX_ENTRIES, kernel/unwind/deferred.c.
const MaxEntries = 510

// Bits of a task's mask that belong to no work.
const (
	pendingBit = 1 << 0 // the walk will run before the task returns
	usedBit    = 1 << 1 // there is something to reset on return
	reserved   = pendingBit | usedBit
)

// MaxWorks is how many tracers can use deferred stacks at once.
const MaxWorks = 64 - 2

// Work is one tracer that wants deferred stacks.
//
// Kernel: struct unwind_work.
type Work struct {
	// Func gets the stack of a stay in the kernel, innermost first; it is empty
	// if it could not be taken, and valid only during the call. It runs in t's
	// context, once for each stay in which Request returned 0.
	Func func(t *Task, stack []uint64, cookie cookie.ID)

	bit  int
	owns *Deferred // while initialised
}

// Deferred holds the works and the count of each CPU.
//
// It models one machine that is stepped, and is not safe for concurrent use. In
// the middle of a request an NMI may make a request as well; that is modelled
// by points at which a test can have an NMI arrive.
type Deferred struct {
	counts []uint32 // last count used, by CPU
	mask   uint64   // bits in use
	works  []*Work  // newest first, the order in which they are called
	tasks  []*Task  // for Cancel
	walker user.Walker
	// reading says that works are being called, in the read-side section of unwind_srcu.
	reading bool

	at func(point) // nil outside of tests
}

// point is a place in a request where an NMI can arrive.
type point uint8

const (
	pointCookieChecked point = iota // the task has no cookie yet
	pointCountChosen                // the count is in the task, not yet in the CPU
	pointCounted                    // the CPU's count has moved on; the cookie has no CPU yet
	pointMaskRead                   // the work's bit was not set
	pointMaskSet                    // the bit is set now; the walk is not queued yet
)

func (d *Deferred) pass(p point) {
	if d.at != nil {
		d.at(p)
	}
}

// Task is what is kept with a task.
//
// Kernel: struct unwind_task_info.
type Task struct {
	Machine *machine.Task
	// Exiting refuses further requests (PF_EXITING); Exit sets it.
	Exiting bool

	mask      uint64
	completed uint64 // works that have had the cached stack
	id        cookie.ID
	queued    bool // the walk is queued
	cache     []uint64
	walks     int
}

// NewDeferred returns the state of a machine with that many CPUs.
func NewDeferred(cpus int) *Deferred {
	return &Deferred{counts: make([]uint32, cpus), mask: reserved}
}

// NewTask begins to keep track of t, which has just been forked.
func (d *Deferred) NewTask(t *machine.Task) *Task {
	task := &Task{Machine: t}
	d.tasks = append(d.tasks, task)
	return task
}

// Init registers w. It returns EBUSY if MaxWorks are registered already, and
// EINVAL if w is registered already or has no Func.
//
// Kernel: unwind_deferred_init, kernel/unwind/deferred.c.
func (d *Deferred) Init(w *Work) error {
	if w.owns != nil || w.Func == nil {
		return fmt.Errorf("unwind: init: %w", syscall.EINVAL)
	}
	if d.mask == ^uint64(0) {
		return fmt.Errorf("unwind: init: %d works in use: %w", MaxWorks, syscall.EBUSY)
	}
	w.bit, w.owns = bits.TrailingZeros64(^d.mask), d
	d.mask |= 1 << w.bit
	d.works = append([]*Work{w}, d.works...)
	return nil
}

// Cancel unregisters w. From then on its Func is not called, not even for
// requests that returned 0. A nil or unregistered w is left alone.
//
// Inside of a Func nothing can be cancelled, and Cancel returns EDEADLK: the kernel
// waits there until no Func runs, which would be for ever.
//
// Kernel: unwind_deferred_cancel, and its synchronize_srcu.
func (d *Deferred) Cancel(w *Work) error {
	if w == nil || w.owns != d {
		return nil
	}
	if d.reading {
		return fmt.Errorf("unwind: cancel inside of a callback: %w", syscall.EDEADLK)
	}
	for i, x := range d.works {
		if x == w {
			d.works = append(d.works[:i:i], d.works[i+1:]...)
			break
		}
	}
	bit := uint64(1) << w.bit
	w.owns, w.bit = nil, -1
	d.mask &^= bit
	for _, t := range d.tasks {
		t.mask &^= bit
		t.completed &^= bit
	}
	return nil
}

// errRequest is made once, because requests must not allocate.
var errRequest = fmt.Errorf("unwind: request: %w", syscall.EINVAL)

// Results of Request.
const (
	Queued  = 0 // w.Func will be called before the task returns to user space
	Already = 1 // it will be, or has been, for an earlier request of this stay
)

// Request asks for t's user stack on behalf of w. It never allocates and may be
// made in any context of t on cpu. The cookie names the stay; it is 0, with the
// error EINVAL, for a task without user space, a task that exits, or a w that
// is not registered.
//
// Kernel: unwind_deferred_request.
//
// Departure: a cancelled work is refused, as the kernel intends; the kernel's own
// test is of an unsigned number and never true. A work whose bit is above 31 gets
// Already where the kernel's int would be 0.
func (d *Deferred) Request(t *Task, cpu int, w *Work) (int, cookie.ID, error) {
	if t.Machine.Kernel || t.Exiting || w.owns != d {
		return 0, 0, errRequest
	}
	cookie := d.cookie(t, cpu)
	bit := uint64(1) << w.bit
	if t.mask&bit != 0 {
		return Already, cookie, nil
	}
	d.pass(pointMaskRead)
	old := t.mask
	t.mask |= pendingBit | bit
	if old&(pendingBit|bit) != 0 {
		if old&bit != 0 {
			return Already, cookie, nil
		}
		return Queued, cookie, nil
	}
	d.pass(pointMaskSet)
	t.queued = true
	return Queued, cookie, nil
}

// cookie returns the cookie of t's stay, and makes one if this is the stay's
// first request.
//
// Kernel: get_cookie.
func (d *Deferred) cookie(t *Task, cpu int) cookie.ID {
	if uint32(t.id) != 0 {
		return t.id
	}
	count := 1 | (d.counts[cpu] + 2)
	d.pass(pointCookieChecked)
	// An NMI may have set the task's count in the meantime; then it has also moved
	// the CPU's count on. If an NMI comes between the two assignments below, it finds
	// the task's count set and does not move the CPU's count on.
	if t.id.Count() == 0 {
		t.id = cookie.ID(count) << 32
		d.pass(pointCountChosen)
		d.counts[cpu] = count
		d.pass(pointCounted)
	}
	t.id = cookie.New(cpu, t.id.Count())
	return t.id
}

// ReturnToUser is the end of a stay: it walks the stack if that was asked for,
// gives it to the works that asked, and forgets the cookie.
//
// Kernel: task_work and unwind_reset_info.
func (d *Deferred) ReturnToUser(t *Task) {
	if t.mask == 0 {
		return
	}
	for t.queued {
		t.queued = false
		d.process(t)
	}
	t.mask, t.completed, t.id = 0, 0, 0
	t.cache = t.cache[:0]
}

// process walks the stack, unless that was done in this stay already, and gives
// it to the works that asked for it and have not had it yet.
//
// Kernel: process_unwind_deferred.
func (d *Deferred) process(t *Task) {
	if t.mask&pendingBit == 0 {
		panic("unwind: invariant: a queued walk that is not pending")
	}
	asked := t.mask &^ reserved
	t.mask &^= pendingBit
	d.walk(t)
	asked &^= t.completed
	cookie := t.id
	d.reading = true
	defer func() { d.reading = false }()
	for _, w := range d.works {
		if bit := uint64(1) << w.bit; asked&bit != 0 {
			w.Func(t, t.cache, cookie)
			t.completed |= bit
		}
	}
}

// walk fills the cache of this stay.
//
// Kernel: unwind_user_faultable.
func (d *Deferred) walk(t *Task) {
	if len(t.cache) != 0 || t.Machine.Kernel {
		return
	}
	if t.cache == nil {
		t.cache = make([]uint64, 0, MaxEntries)
	}
	t.cache, _ = d.walker.Walk(t.cache, user.Regs{UserRegs: t.Machine.User}, t.Machine.Memory, MaxEntries)
	t.walks++
	t.mask |= usedBit
}

// Exit handles the exit of a task: a stack that was asked for is delivered
// while there still is one, later requests are refused, and t is forgotten.
//
// Kernel: unwind_deferred_task_exit and unwind_task_free.
func (d *Deferred) Exit(t *Task) {
	t.Exiting = true
	for t.queued {
		t.queued = false
		d.process(t)
	}
	t.mask, t.completed, t.id = 0, 0, 0
	t.cache = nil
	for i, x := range d.tasks {
		if x == t {
			last := len(d.tasks) - 1
			d.tasks[i], d.tasks[last] = d.tasks[last], nil
			d.tasks = d.tasks[:last]
			return
		}
	}
}
