package workload

import (
	"slices"

	"ftracelab/machine"
)

// actor is a task of a learned activity.
type actor struct {
	act     *playing
	role    *Role
	codes   []machine.Code // by stay
	task    *machine.Task
	class   int32
	pos     int
	waiting bool   // at the end of a round, for the next one
	woken   int    // how often it was woken before it slept
	begun   uint64 // of a kernel thread: 1 + the round whose work it has begun last
}

// playing is an activity that goes on. Its tasks do again and again what those of the
// capture have done, and wake each other where these have.
//
// Departure: an activity exists from the moment on when somebody first listens to one of
// its events, so that all other events of a run do not depend on it. Each round is the
// same, except for times and for the numbers of transactions: the same files, blocks and
// packets.
type playing struct {
	w      *mix
	what   *Activity
	actors []*actor
	round  uint64
	once   bool // there is one round, at whose end the leader exits
	done   bool
}

// roundPause is the mean time between two rounds.
const roundPause = 40 * machine.Millisecond

// maxSleep is how long an actor sleeps at most if what has woken the task in the capture
// does not come.
const maxSleep = 20 * machine.Millisecond

// offerActivities lets the activities begin when they are asked for.
func (w *mix) offerActivities() error {
	for _, h := range inside() {
		w.m.Subsystems([]string{h.Name}, nil)
	}
	head, err := loadActivityHead()
	if err != nil {
		return err
	}
	for i, offer := range head.offers {
		begun := false
		w.m.Subsystems(offer.Events, func() error {
			if w.disk != nil {
				return nil // its driver is another model of the same device
			}
			all, err := loadActivities()
			if err != nil {
				return err
			}
			if err := w.loadLearned(all); err != nil {
				return err
			}
			if !begun && byItself[offer.Name] {
				begun = true
				w.play(all, &all.List[i])
			}
			return nil
		})
	}
	return nil
}

// byItself are the activities that go on all the time; the others are asked for by
// commands.
var byItself = map[string]bool{"files": true, "network": true, "device": true, "memory": true}

// loadLearned adds the modules and the code of all activities to the kernel, once.
func (w *mix) loadLearned(all *Activities) error {
	if w.learned != nil {
		return nil
	}
	for _, mod := range all.Modules {
		if w.m.HasModule(mod.Name) || mod.Name == dummyName {
			continue
		}
		if err := w.m.LoadModule(machine.Module{Name: mod.Name, Symbols: mod.Symbols}); err != nil {
			return err
		}
	}
	l := machine.Learned{Sites: all.Sites, Slabs: all.Slabs, Happenings: all.Happenings}
	for i := range all.Templates {
		l.Codes = append(l.Codes, all.Templates[i].Ops.Code())
	}
	for _, p := range all.Pieces {
		l.Pieces = append(l.Pieces, machine.Piece{
			Code: slices.Clone(all.Templates[p.Template].Ops.Code()), After: p.After, IRQ: p.IRQ, Handler: p.Handler,
		})
	}
	w.m.AddLearned(l)
	w.learned = l.Codes
	return nil
}

// play starts the tasks of an activity.
func (w *mix) play(all *Activities, what *Activity) *playing {
	p := &playing{w: w, what: what}
	first := int32(0)
	for i := range all.List {
		if &all.List[i] == what {
			break
		}
		first += int32(len(all.List[i].Roles))
	}
	for i := range what.Roles {
		a := &actor{act: p, role: &what.Roles[i], class: WakeRole + first + int32(i)}
		for _, s := range a.role.Stays {
			a.codes = append(a.codes, w.learned[s.Template])
		}
		a.task = w.m.Spawn(machine.TaskConfig{
			Comm: a.role.Comm, Kernel: a.role.Kernel, CPU: i % len(w.m.CPUs()), Next: a.next, Asleep: true,
			Wait: machine.Wait{Class: a.class, Timeout: timeoutOf(a.role.Kernel, i), By: machine.Sleep},
		})
		if !a.role.Kernel {
			a.task.Memory = newUserStack()
		}
		w.actors[a.class], p.actors = a, append(p.actors, a)
	}
	return p
}

// timeoutOf says when a task does its first work: the kernel threads when they are woken,
// and the leader last.
func timeoutOf(kernel bool, role int) machine.Time {
	switch {
	case kernel:
		return 0
	case role == 0:
		return machine.Millisecond
	}
	return machine.Millisecond / 2
}

// next gives the next stay of the actor in the kernel.
func (a *actor) next(_ *machine.CPU, t *machine.Task) machine.Stay {
	w := a.act.w
	if a.pos == len(a.role.Stays) {
		switch {
		case a.role.Kernel:
			a.pos = 0
		case a.act.once:
			a.act.done = true
			return machine.Stay{
				Kind: machine.Syscall, After: 1000, NR: sysExitGroup, Code: w.pick(sleeps(sysExitGroup)), User: w.userAt(t, 0, sysExitGroup),
			}
		case a == a.act.actors[0] && a.waiting && a.act.settled():
			a.act.again()
		default:
			a.waiting = true
			stay := machine.Stay{
				Kind: machine.Syscall, After: 1000, NR: sysClockNanosleep, Code: w.pick(sleeps(sysClockNanosleep)),
				User: w.userAt(t, 0, sysClockNanosleep),
			}
			if a == a.act.actors[0] {
				stay.Wait = machine.Wait{Timeout: w.m.Rand("activities").Uint64N(roundPause) + roundPause/2, By: machine.Sleep}
			} else {
				stay.Wait = machine.Wait{Class: a.class, Over: func() bool { return !a.waiting }}
			}
			return stay
		}
	}
	if a.pos == 0 {
		a.begun = a.act.round + 1
	}
	s := &a.role.Stays[a.pos]
	stay := machine.Stay{
		Kind: machine.Syscall, After: max(machine.Time(s.After), 1), NR: int64(s.NR), Args: s.Args, Ret: s.Ret,
		Code: a.codes[a.pos], Round: a.act.round * a.act.what.Step,
		Wait: machine.Wait{Class: a.class, Timeout: maxSleep, By: machine.Sleep, Over: a.over},
	}
	a.pos++
	switch {
	case a.role.Kernel:
		stay.Kind = machine.KernelWork
		if a.pos == len(a.role.Stays) {
			stay.Wait.Timeout = 0
		}
		return stay
	case s.NR < 0:
		stay.Kind, stay.Address, stay.ErrorCode = machine.PageFault, 0x7f3be8000000+uint64(a.pos)<<12, 0x6
	}
	stay.User = w.userAt(t, a.pos, s.NR)
	return stay
}

// served reports whether the actor is a kernel thread that has done the work of the round. It
// may have done some of it before it was woken for it, because the process had no CPU.
func (a *actor) served() bool {
	return a.role.Kernel && a.pos == len(a.role.Stays) && a.begun == a.act.round+1
}

// over reports whether the actor was woken before it came to sleep.
func (a *actor) over() bool {
	if a.woken == 0 || a.served() {
		return false
	}
	a.woken--
	return true
}

// settled reports whether the kernel threads have done the work of the round.
func (p *playing) settled() bool {
	return !slices.ContainsFunc(p.actors, func(a *actor) bool {
		_, asleep := a.task.Sleeping()
		return a.role.Kernel && (!asleep || a.pos > 0 && a.pos < len(a.role.Stays))
	})
}

// again begins the next round.
func (p *playing) again() {
	p.round++
	for _, a := range p.actors {
		a.woken = 0
		if a.role.Kernel {
			continue
		}
		a.pos = 0
		if a.waiting && a != p.actors[0] {
			p.w.m.Wake(a.task)
		}
		a.waiting = false
	}
}

// wakeActor gives the actor that a wake-up of that class wakes. If it does not sleep yet,
// it will not.
func (w *mix) wakeActor(class int32) *machine.Task {
	a := w.actors[class]
	if a == nil || a.served() {
		return nil
	}
	if _, asleep := a.task.Sleeping(); asleep && !a.waiting {
		return a.task
	}
	a.woken++
	return nil
}
