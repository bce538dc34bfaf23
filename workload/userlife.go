//go:build !js

package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"ftracelab/machine"
)

// userProc is a process that lives as a captured one did, with its user stacks.
type userProc struct {
	all    *populace
	life   *UserLife
	space  *addressSpace
	stack  *userStack
	task   *machine.Task
	parent *userProc
	root   bool // it begins its life again instead of ending
	dead   bool

	pos   int // the next of life.Places
	fork  int // the next of life.Forks
	round int32
	again int // the next child at the beginning of a round

	paused int          // the next of life.Pause
	pause  int          // the place of the pause before it
	after  machine.Time // how long it computes before the next call, besides the usual time
	asleep machine.Time // how long it sleeps before that

	alive int  // children that live
	ended int  // children that have ended and were not waited for
	waits bool // its last call waited for one
	last  int  // the pid of the child that ended last
}

// populace is what the processes have in common.
type populace struct {
	w     *mix
	users *Users
	rng   *rand.Rand
	calls []calling    // by index into Users.Calls
	words [][]int32    // by image: where the words of each place begin
	guess bool         // whether a process slept in a pause is not known
	leave machine.Code // the way out without a system call
	fault machine.Code // a page fault that waits for a page of the program
}

// calling is the code of a system call: what it can run if it does not sleep, and if it
// does.
type calling struct{ awake, asleep []choice }

// userScenarios are the scenarios whose processes have captured user stacks.
func userScenarios() []Scenario {
	return []Scenario{
		{"users", "a shell that runs find, tar, sort, gzip, dd, cat and others again and again, which have the user stacks of captured ones", live("users")},
		{"frames", "a shell that runs programs with frame pointers, whose stacks are deep, and others without", live("frames")},
	}
}

// live makes a scenario of a group.
func live(group string) func(*machine.Machine) error {
	return func(m *machine.Machine) error {
		if err := Start(m, Config{Balance: true}); err != nil {
			return err
		}
		return m.Workload().(*mix).userLives(group)
	}
}

// userLives adds the processes of a group to the machine, which is booted.
func (w *mix) userLives(name string) error {
	users, err := loadUsers()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(users.Groups, func(g UserGroup) bool { return g.Name == name })
	if at < 0 {
		return fmt.Errorf("workload: no users %q", name)
	}
	all := &populace{w: w, users: users, rng: w.m.Rand("users"), words: make([][]int32, len(users.Images)), guess: !users.Groups[at].Switches}
	if err := all.fillCalls(); err != nil {
		return err
	}
	for i := range users.Images {
		next := int32(0)
		for _, depth := range users.Images[i].Depth {
			all.words[i] = append(all.words[i], next)
			next += int32(depth)
		}
	}
	image := users.Groups[at].Image
	p := all.user(users.Groups[at].Root, all.space(image))
	p.root = true
	p.task = w.m.Spawn(machine.TaskConfig{
		Comm: users.Images[image].Comm, Data: p, Next: p.next, Memory: p.stack, Maps: p.space.maps,
		Asleep: true, Wait: machine.Wait{Timeout: machine.Millisecond, By: machine.Sleep},
	})
	return nil
}

// fillCalls finds the code of all system calls.
//
// Departure: a system call that is in no capture of call trees has only the function that
// carries it out. A sleep in one of which no capture has a sleep becomes that of a page fault
// after it.
func (all *populace) fillCalls() error {
	w := all.w
	for _, call := range all.users.Calls {
		key := fmt.Sprintf("sys %d", call.NR)
		c := calling{awake: w.codes[key], asleep: w.codes[key+" sleeps"]}
		if c.awake == nil && c.asleep == nil {
			code, err := w.m.Assemble(120, func(a *machine.Assembler) {
				a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("x64_sys_call").Call(call.Func).Return(4)
			})
			if err != nil {
				return err
			}
			c.awake = only(w.crossing(code))
		}
		all.calls = append(all.calls, c)
	}
	var err error
	all.fault, err = w.m.Assemble(120, func(a *machine.Assembler) {
		a.Hide("asm_exc_page_fault").Call("exc_page_fault").Trace(machine.EvPageFaultUser, 0).Call("do_user_addr_fault").Call("handle_mm_fault")
		a.Call("__handle_mm_fault").Call("do_fault").Call("__do_fault").Call("filemap_fault")
		awaitFolio(a)
		a.Return(8)
	})
	if err != nil {
		return err
	}
	// A process that a signal ends makes no system call.
	for _, op := range w.pick(sleeps(sysExitGroup)) {
		if op.Kind != machine.OpTrace || op.Event != machine.EvSysEnter {
			all.leave = append(all.leave, op)
		}
	}
	return nil
}

func (all *populace) user(life int32, space *addressSpace) *userProc {
	p := &userProc{all: all, life: &all.users.Lives[life], space: space}
	p.stack = &userStack{base: space.top - 8*stackWords}
	return p
}

// next gives the next stay of the process in the kernel.
func (p *userProc) next(_ *machine.CPU, t *machine.Task) machine.Stay {
	if p.root {
		p.turn()
	}
	if p.waits && p.ended > 0 {
		p.ended--
	}
	p.waits = false
	if p.asleep > 0 {
		const fetch, fromUser = 1 << 4, 1 << 2
		stay := machine.Stay{
			Kind: machine.PageFault, After: machine.Microsecond, ErrorCode: fetch | fromUser, Code: p.all.fault,
			User: p.at(p.life.Places[p.pos]), Wait: machine.Wait{Timeout: p.asleep, By: machine.Sleep},
		}
		stay.Address = stay.User.IP
		p.asleep = 0
		return stay
	}
	if p.pos == len(p.life.Places) {
		return machine.Stay{Kind: machine.KernelWork, After: machine.Microsecond, Code: p.all.leave}
	}
	im, place := &p.all.users.Images[p.space.image], p.life.Places[p.pos]
	n := im.Call[place]
	call, code := &p.all.users.Calls[n], &p.all.calls[n]
	stay := machine.Stay{Kind: machine.Syscall, NR: int64(call.NR), After: 1 + p.after, User: p.at(place)}
	for i, w := range im.Args[6*int(place) : 6*int(place)+6] {
		stay.Args[i] = p.word(im, w)
	}
	if busy := machine.Time(im.Busy[place]); busy > 0 {
		stay.After += p.all.w.around(busy)
	}
	computed, slept := p.pauseAfter()
	switch {
	case p.all.guess && call.NR == sysWait4:
		computed = 0 // it waited for a child
	case p.all.guess && code.asleep != nil:
		computed, slept = 0, computed
	}
	p.after = computed
	switch {
	case call.NR == sysWait4:
		stay.Ret = -echild
		if p.ended == 0 && p.alive > 0 && call.Waits {
			stay.Code = pick(p.all.w.rng, code.asleep)
			stay.Wait = machine.Wait{Class: wakeParent, Over: p.over}
			p.waits = true
		} else if p.ended > 0 {
			p.ended--
			stay.Ret = int64(p.last)
		}
	case code.asleep != nil && (slept > 0 || code.awake == nil):
		stay.Code = pick(p.all.w.rng, code.asleep)
		stay.Wait = machine.Wait{Timeout: max(slept, machine.Microsecond), By: machine.Sleep}
	default:
		p.asleep = slept
	}
	if stay.Code == nil {
		stay.Code = pick(p.all.w.rng, code.awake)
	}
	switch call.NR {
	case sysGetPID:
		stay.Ret = int64(t.TGID)
	case sysGetTID, sysSetTIDAddress:
		stay.Ret = int64(t.PID)
	case sysWrite:
		stay.Ret = int64(stay.Args[2])
	case sysOpenat:
		stay.Ret = guestFD
	}
	p.pos++
	return stay
}

const echild = 10

// turn goes back to the beginning of what is repeated, and at the end to that of the life.
func (p *userProc) turn() {
	switch {
	case p.pos == int(p.life.From) && p.round == 0:
		p.again = p.fork
	case p.life.Rounds > 0 && p.pos == int(p.life.To) && p.round < p.life.Rounds-1:
		p.round++
		p.pos, p.fork = int(p.life.From), p.again
		p.seek()
	case p.pos == len(p.life.Places):
		p.round, p.pos, p.fork, p.paused, p.pause = 0, 0, 0, 0, 0
	}
}

// seek finds the pause that comes next.
func (p *userProc) seek() {
	p.paused, p.pause = 0, 0
	for p.paused < len(p.life.PauseAt) {
		if p.pause+int(p.life.PauseAt[p.paused]) >= p.pos {
			return
		}
		p.pause += int(p.life.PauseAt[p.paused])
		p.paused++
	}
}

// pauseUnit is the unit of UserLife.Pause.
const pauseUnit = 100 * machine.Microsecond

// pauseAfter is how long the process computed after the place that it is at, and how long it
// slept there.
func (p *userProc) pauseAfter() (computed, slept machine.Time) {
	for p.paused < len(p.life.PauseAt) && p.pause+int(p.life.PauseAt[p.paused]) == p.pos {
		p.pause = p.pos
		if d := machine.Time(p.life.Pause[p.paused]) * pauseUnit; p.life.Asleep[p.paused] {
			slept += d
		} else {
			computed += d
		}
		p.paused++
	}
	return computed, slept
}

// over reports whether a child has ended.
func (p *userProc) over() bool { return p.ended > 0 }

// at puts the process at a place in its program: it writes frames to its stack and returns
// the registers. A frame pointer of 0 ends the chain.
func (p *userProc) at(place uint16) machine.UserRegs {
	all, im := p.all, &p.all.users.Images[p.space.image]
	from := all.words[p.space.image][place]
	words := im.Words[from : from+int32(im.Depth[place])]
	regs := machine.UserRegs{IP: p.word(im, words[0]), SP: p.space.top - 0x800}
	addr := regs.SP + 0x20
	for i, w := range words[1:] {
		if i == 0 {
			regs.FP = addr
		}
		up := uint64(0)
		if i+2 < len(words) {
			up = addr + 0x20
		}
		p.stack.store(addr, up)
		p.stack.store(addr+8, p.word(im, w))
		addr += 0x20
	}
	return regs
}

func (p *userProc) word(im *UserImage, n uint16) uint64 {
	w := uint64(im.Offset[n])
	if b := im.Base[n]; b > 0 {
		w += p.space.bases[b-1]
	}
	return w
}

// event carries out a fork, an exec or an exit at the step of the kernel's code at which it
// happens.
func (p *userProc) event(c *machine.CPU, t *machine.Task, e machine.Event) {
	switch e {
	case machine.EvSchedFork:
		if p.fork < len(p.life.Forks) {
			p.fork++
			p.forks(c, t, p.life.Forks[p.fork-1])
		}
	case machine.EvSchedExec:
		if p.life.Exec >= 0 && p.pos-1 == int(p.life.At) {
			p.space = p.all.space(p.life.Exec)
			p.stack = &userStack{base: p.space.top - 8*stackWords}
			comm := p.all.users.Images[p.life.Exec].Comm
			c.Exec(comm, "/usr/bin/"+comm)
		}
	case machine.EvSchedExit:
		p.dead = true
		if parent := p.waiter(); parent != nil {
			parent.alive--
			parent.ended++
			parent.last = t.PID
			reap(t)
		}
	}
}

// program is what an exec leaves: nothing on the stack yet, in front of the first place from
// which the new program enters the kernel.
func (p *userProc) program() machine.Program {
	user := machine.UserRegs{SP: p.space.top - 0x80}
	if p.pos < len(p.life.Places) {
		im, place := &p.all.users.Images[p.space.image], p.life.Places[p.pos]
		user.IP = p.word(im, im.Words[p.all.words[p.space.image][place]])
	}
	return machine.Program{Memory: p.stack, Maps: p.space.maps, User: user}
}

// forks makes a child.
func (p *userProc) forks(c *machine.CPU, t *machine.Task, life int32) {
	if t.DeadlineTask() {
		t.Stay().Ret = -eagain
		return
	}
	child := p.all.user(life, p.space)
	*child.stack, child.parent = *p.stack, p
	flags := uint64(0x1200011)
	if child.life.Thread {
		flags = 0x3d0f00
	} else {
		p.alive++
	}
	child.task = c.Fork(machine.TaskConfig{
		Comm: t.Comm, Prio: t.Prio, Policy: t.Policy, Thread: child.life.Thread, Born: p.all.w.pick("born"),
		Data: child, Next: child.next, Memory: child.stack, Maps: p.space.maps,
	}, flags)
	t.Stay().Ret = int64(child.task.PID)
}

// waiter is the process that may wait for the end of this one; nil for a thread and for an
// orphan.
func (p *userProc) waiter() *userProc {
	if p.life.Thread || p.parent == nil || p.parent.dead {
		return nil
	}
	return p.parent
}

// wakee gives the process that waits for the end of this one, if there is one.
func (p *userProc) wakee() *machine.Task {
	if !p.dead {
		return nil
	}
	parent := p.waiter()
	if parent == nil {
		return nil
	}
	if wait, asleep := parent.task.Sleeping(); !asleep || wait.Class != wakeParent {
		return nil
	}
	return parent.task
}
