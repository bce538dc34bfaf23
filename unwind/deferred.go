package unwind

import (
	"fmt"
	"math/bits"
	"slices"
	"syscall"

	"ftracelab/machine"
	"ftracelab/unwind/cookie"
	"ftracelab/unwind/user"
)

// Bits of a task's mask that belong to no work.
const (
	pendingBit = 1 << 0 // the walk will run before the task returns
	usedBit    = 1 << 1 // there is something to reset on return
	reserved   = pendingBit | usedBit
)

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
// the middle of each operation an NMI may make a request; that is modelled
// by points at which a test can have an NMI arrive.
type Deferred struct {
	cfg    Config
	counts []uint64 // last count used, by CPU
	mask   uint64   // bits in use, and those that the machine's word has not
	works  []*Work  // newest first, the order in which they are called; a change makes a new list
	tasks  []*Task  // for Cancel
	walker user.Walker
	// reading says that works are being called, in the read-side section of unwind_srcu.
	reading bool

	at func(point) // nil outside of tests
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
	leaving   bool // what belongs to the stay is being reset
	cache     []uint64
	walks     user.Walks
}

// NewDeferred returns the state of a machine.
func NewDeferred(cfg Config) *Deferred {
	d := &Deferred{cfg: cfg, counts: make([]uint64, cfg.CPUs), mask: reserved, walker: cfg.walker()}
	if cfg.Word32 {
		d.mask |= 0xffffffff << 32
	}
	return d
}

// NewTask begins to keep track of t, which has just been forked. It has nothing of what is
// kept with its parent: no cookie, and no walk that is pending.
//
// Kernel: unwind_task_init, kernel/unwind/deferred.c.
func (d *Deferred) NewTask(t *machine.Task) *Task {
	task := &Task{Machine: t}
	d.tasks = append(d.tasks, task)
	return task
}

// Init registers w. It returns EBUSY if [Config.MaxWorks] are registered already, and
// EINVAL if w is registered already or has no Func.
//
// Kernel: unwind_deferred_init, kernel/unwind/deferred.c.
func (d *Deferred) Init(w *Work) error {
	if w.owns != nil || w.Func == nil {
		return fmt.Errorf("unwind: init: %w", syscall.EINVAL)
	}
	if d.mask == ^uint64(0) {
		return fmt.Errorf("unwind: init: %d works in use: %w", d.cfg.MaxWorks(), syscall.EBUSY)
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
	d.forget(d.unlink(w))
	return nil
}

// unlink takes a work out of the list, after which it makes no requests any more, and
// returns its bit. A walk under way on another CPU may still call it.
func (d *Deferred) unlink(w *Work) (bit uint64) {
	bit = 1 << w.bit
	d.works = slices.DeleteFunc(slices.Clone(d.works), func(x *Work) bool { return x == w })
	w.owns, w.bit = nil, -1
	return bit
}

// forget ends a cancellation, when no walk under way can call the work any more.
//
// Departure: the kernel makes the bit free before it has taken it from all tasks. A work
// that is registered in between finds it set in a task that had asked for the cancelled one.
func (d *Deferred) forget(bit uint64) {
	for _, t := range d.tasks {
		t.mask &^= bit
		t.completed &^= bit
	}
	d.mask &^= bit
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
// Already where the kernel's int would be 0. While a return resets what is kept with the
// task, requests are refused; in the kernel an NMI at that moment gets the cookie of the
// stay that ends, and its stack comes with cookie 0. A work that another CPU cancels during
// its request is refused; in the kernel it may leave its bit behind in the task, and who is
// registered next has it.
func (d *Deferred) Request(t *Task, cpu int, w *Work) (int, cookie.ID, error) {
	if t.Machine.Kernel || t.Exiting || t.leaving || w.owns != d || t.Machine.Compat && !d.cfg.WalkCompat && !d.cfg.Word32 {
		return 0, 0, errRequest
	}
	bit := uint64(1) << w.bit
	cookie := d.cookie(t, cpu)
	if t.mask&bit != 0 && w.owns == d {
		return Already, cookie, nil
	}
	d.pass(pointMaskRead)
	if w.owns != d {
		return 0, 0, errRequest
	}
	old := t.mask
	t.mask |= pendingBit | bit
	if old&(pendingBit|bit) == 0 {
		d.pass(pointMaskSet)
		t.queued = true
	}
	switch {
	case w.owns != d: // the cancellation clears the bit
		return 0, 0, errRequest
	case old&bit != 0:
		return Already, cookie, nil
	}
	return Queued, cookie, nil
}

// RequestNMI is Request in an NMI. It may interrupt every other operation on t, and another
// request. Where [Config.NoNMI] says so, it is refused.
func (d *Deferred) RequestNMI(t *Task, cpu int, w *Work) (int, cookie.ID, error) {
	if d.cfg.NoNMI {
		return 0, 0, errRequest
	}
	return d.Request(t, cpu, w)
}

// cookie returns the cookie of t's stay, and makes one if this is the stay's
// first request.
//
// Kernel: get_cookie.
func (d *Deferred) cookie(t *Task, cpu int) cookie.ID {
	if d.cfg.Cookies == cookie.January2025 {
		return d.januaryCookie(t, cpu)
	}
	if uint32(t.id) != 0 {
		return t.id
	}
	count := 1 | (uint32(d.counts[cpu]) + 2)
	d.pass(pointCookieChecked)
	// An NMI may have set the task's count in the meantime; then it has also moved
	// the CPU's count on. If an NMI comes between the two assignments below, it finds
	// the task's count set and does not move the CPU's count on.
	if t.id.Count() == 0 {
		t.id = cookie.ID(count) << 32
		d.pass(pointCountChosen)
		d.counts[cpu] = uint64(count)
		d.pass(pointCounted)
	}
	t.id = cookie.New(cpu, t.id.Count())
	return t.id
}

// januaryCookie is cookie for the first layout, of which all is set at once. That takes a
// cmpxchg of 64 bits, which a 32-bit machine may not have.
//
// Kernel: get_cookie of the series of January 2025.
func (d *Deferred) januaryCookie(t *Task, cpu int) cookie.ID {
	if t.id != 0 {
		return t.id
	}
	count := d.counts[cpu] + 1
	d.pass(pointCookieChecked)
	if t.id == 0 {
		t.id = cookie.January(cpu, count)
		d.pass(pointCountChosen)
		d.counts[cpu] = count
		d.pass(pointCounted)
	}
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
	for {
		d.drain(t)
		d.pass(pointUnqueued)
		t.leaving = true
		if t.mask&pendingBit == 0 {
			break
		}
		t.leaving = false // an NMI has asked
	}
	d.pass(pointLeaving)
	t.mask = 0
	d.pass(pointMaskReset)
	t.id, t.completed = 0, 0
	t.cache = t.cache[:0]
	d.pass(pointReset)
	t.leaving = false
}

// drain does the walks that are queued.
func (d *Deferred) drain(t *Task) {
	for t.queued {
		t.queued = false
		d.process(t)
	}
}

// process walks the stack, unless that was done in this stay already, and gives
// it to the works that asked for it and have not had it yet.
//
// Kernel: process_unwind_deferred.
//
// Departure: the kernel knows who has asked before it enters the section for which a
// cancellation waits. If a work is cancelled between the two, and another one gets its bit,
// the other one is called. Here the mask is looked at again.
func (d *Deferred) process(t *Task) {
	if t.mask&pendingBit == 0 {
		panic("unwind: invariant: a queued walk that is not pending")
	}
	asked := t.mask &^ reserved
	t.mask &^= pendingBit
	d.pass(pointTaken)
	d.walk(t)
	d.pass(pointWalked)
	cookie := t.id
	d.reading = true
	defer func() { d.reading = false }()
	asked &= t.mask &^ t.completed
	for _, w := range d.works {
		if w.bit < 0 { // another CPU is cancelling it
			continue
		}
		if bit := uint64(1) << w.bit; asked&bit != 0 {
			d.pass(pointCall)
			w.Func(t, t.cache, cookie)
			d.pass(pointCalled)
			t.completed |= bit
		}
	}
}

// walk fills the cache of this stay. The task may wait here, so that what is swapped out comes
// back.
//
// Departure: all that is swapped out comes back at once, without a page fault of the kernel and
// in no time.
//
// Kernel: unwind_user_faultable.
func (d *Deferred) walk(t *Task) {
	if len(t.cache) != 0 || t.Machine.Kernel {
		return
	}
	limit, walker := d.cfg.MaxEntries(), &d.walker
	if t.cache == nil {
		t.cache = make([]uint64, 0, limit)
	}
	if t.Machine.Compat {
		walker = &compatWalker
	}
	if memory, ok := t.Machine.Memory.(machine.PagedMemory); ok {
		memory.PageIn()
	}
	var why user.Stop
	t.cache, why = walker.Walk(t.cache, user.Regs{UserRegs: t.Machine.User}, t.Machine.Memory, limit)
	t.walks.Add(len(t.cache), why)
	t.mask |= usedBit
}

// Exec handles the begin of another program, before the old one's memory is gone: a stack
// that was asked for is delivered, and the stay has another cookie from here on.
//
// Departure: the kernel does not do this. It walks the stack at the end of the stay, when the
// memory and the registers are those of the new program; see [Config.ExecLate].
func (d *Deferred) Exec(t *Task) {
	if !d.cfg.ExecLate {
		d.ReturnToUser(t)
	}
}

// Exit handles the exit of a task: a stack that was asked for is delivered
// while there still is one, later requests are refused, and t is forgotten.
//
// Kernel: unwind_deferred_task_exit and unwind_task_free.
func (d *Deferred) Exit(t *Task) {
	t.Exiting = true
	d.pass(pointExiting)
	d.drain(t)
	t.mask, t.completed, t.id = 0, 0, 0
	t.cache = nil
	d.pass(pointFreed)
	for i, x := range d.tasks {
		if x == t {
			last := len(d.tasks) - 1
			d.tasks[i], d.tasks[last] = d.tasks[last], nil
			d.tasks = d.tasks[:last]
			return
		}
	}
}
