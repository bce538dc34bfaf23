package workload

import (
	"ftracelab/machine"
)

// trail is a process that follows the trail of a captured one.
type trail struct {
	all   *trailing
	life  *TrailLife
	round uint64
	pos   int
	away  machine.Time // how long the process is away before its next stay
	late  []int32      // stays that give the CPU to another task, and wait for there to be one
	tries int          // how often the first of them has waited
	done  bool
	// faulted says that the page fault in front of the next stay has been, which took cost.
	faulted bool
	cost    machine.Time
}

// trailing is what the processes of a load have in common.
type trailing struct {
	w     *mix
	load  *Load
	code  *trailBuilder
	begin machine.Time
	// forks says that processes of the load fork each other. Those in unborn have not begun.
	forks  bool
	unborn []birth
}

// A process that has to give its CPU to another task computes until there is one. It looks
// for it so often, first after firstTry and then more and more seldom, before it goes on
// with its trail.
const (
	maxTries = 39
	firstTry = 10 * machine.Microsecond
	lastTry  = 100 * machine.Microsecond
)

// trailCost is how long a step of a trail takes, in ns.
const trailCost = 60

// start adds the processes of the load.
func (tg *trailing) start() {
	tg.begin = tg.w.m.Now()
	for i := range tg.load.Lives {
		tg.spawn(&trail{all: tg, life: &tg.load.Lives[i]}, i)
	}
}

func (tg *trailing) spawn(d *trail, i int) {
	b := birth{at: max(tg.begin+d.round*tg.load.Span+d.life.Start, tg.w.m.Now()+1), life: d, cpu: i}
	if tg.forks && !d.life.Kernel && b.at > tg.begin+birthSlack {
		tg.expect(b)
		return
	}
	tg.appear(b)
}

// shellComm is the name of what starts the programs of the blended load.
const shellComm = "mix"

// appear lets a process begin that has no parent.
func (tg *trailing) appear(b birth) {
	life, comm := b.life.life, b.life.life.Comm
	if tg.forks && tg.executes(life) {
		comm = shellComm // until then
	}
	t := tg.w.m.Spawn(machine.TaskConfig{
		Comm: comm, CPU: b.cpu, Kernel: life.Kernel, Data: b.life, Asleep: true,
		Wait: machine.Wait{At: max(b.at, tg.w.m.Now()+1), By: machine.Sleep},
	})
	if !life.Kernel {
		t.Memory = newUserStack()
	}
}

// nextTrail gives the next stay of a process on its trail.
func (w *mix) nextTrail(c *machine.CPU, t *machine.Task, d *trail) machine.Stay {
	tg := d.all
	w.deliver()
	if d.away > 0 {
		wait := machine.Wait{Timeout: d.away, By: machine.Sleep}
		d.away = 0
		return w.sleepStay(t, wait)
	}
	if len(d.late) > 0 {
		if at := d.late[0]; c.Runnable() > 0 {
			d.late, d.tries = d.late[1:], 0
			return tg.stayOf(t, at, 1)
		}
		if d.tries = (d.tries + 1) % maxTries; d.tries != 0 {
			return machine.Stay{Kind: machine.KernelWork, After: min(firstTry*machine.Time(d.tries+1)/2, lastTry)}
		}
	}
	if d.pos >= len(d.life.Stay) {
		next := &trail{all: tg, life: d.life, round: d.round + 1}
		if d.life.Kernel {
			*d = *next
			at := max(tg.begin+d.round*tg.load.Span+d.life.Start, w.m.Now()+machine.Millisecond)
			return w.sleepStay(t, machine.Wait{At: at, By: machine.Sleep})
		}
		if !d.done {
			d.done = true
			tg.spawn(next, c.ID)
		}
		return machine.Stay{
			Kind: machine.Syscall, After: 1000, NR: sysExitGroup, Code: w.pick(sleeps(sysExitGroup)), User: w.userAt(t, 0, sysExitGroup),
		}
	}
	if stay, ok := d.fault(t); ok {
		return stay
	}
	at, busy, away := d.life.Stay[d.pos], machine.Time(d.life.Busy[d.pos]), machine.Time(d.life.Away[d.pos])
	if d.faulted {
		busy -= min(busy/2+d.cost, busy)
		d.faulted = false
	}
	d.pos++
	next := tg.code.at(at)
	if next.yield {
		d.late = append(d.late, at)
		return machine.Stay{Kind: machine.KernelWork, After: max(busy, 1)}
	}
	stay := tg.stayOf(t, at, max(busy, 1))
	if next.sleep {
		stay.Wait = machine.Wait{Timeout: max(away, 1), By: machine.Sleep}
	} else {
		d.away = away
	}
	if next.dies && !d.done {
		d.done = true
		tg.spawn(&trail{all: tg, life: d.life, round: d.round + 1}, c.ID)
	}
	return stay
}

// stayOf gives the stay with that number, after a time in user space.
func (tg *trailing) stayOf(t *machine.Task, at int32, after machine.Time) machine.Stay {
	made := tg.code.at(at)
	s := made.Stay
	s.After = max(after, made.cost+1) - made.cost // the captured time includes the kernel's
	if t.Kernel {
		s.Kind = machine.KernelWork
		return s
	}
	s.User = tg.w.userAt(t, int(at), int32(s.NR))
	if like := tg.w.callLike(s.NR, int(at)); like != nil && s.Kind == machine.Syscall {
		s.Args, s.Ret = like.Args, like.Ret
	}
	return s
}

// callLike gives a captured system call with that number; nil if there is none. No trail
// shows the arguments and the results of its own calls.
func (w *mix) callLike(nr int64, n int) *ScriptStay {
	if w.calls == nil {
		w.calls = map[int64][]*ScriptStay{}
		for i := range w.model.Scripts {
			for j := range w.model.Scripts[i].Stays {
				if s := &w.model.Scripts[i].Stays[j]; s.NR >= 0 {
					w.calls[int64(s.NR)] = append(w.calls[int64(s.NR)], s)
				}
			}
		}
	}
	list := w.calls[nr]
	if len(list) == 0 {
		return nil
	}
	return list[n%len(list)]
}

// sleepStay is a stay in which a process waits: for a child, or a kernel thread for work.
func (w *mix) sleepStay(t *machine.Task, wait machine.Wait) machine.Stay {
	if t.Kernel {
		return machine.Stay{Kind: machine.KernelWork, Code: w.pick("kthread kworker"), Wait: wait}
	}
	return machine.Stay{
		Kind: machine.Syscall, After: 1000, NR: sysWait4, Code: w.pick(sleeps(sysWait4)), Wait: wait, User: w.userAt(t, 0, sysWait4),
	}
}
