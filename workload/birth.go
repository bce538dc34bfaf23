package workload

import (
	"slices"

	"ftracelab/machine"
)

// birth is a process of a load that has not begun.
type birth struct {
	at   machine.Time
	life *trail
	cpu  int
}

// A process of a load may begin so much earlier or later than it did in its capture, so
// that another process of the load can fork it. If none does, it begins without a parent.
const birthSlack = 50 * machine.Millisecond

// cloneFlags are those of a fork by the C library.
const cloneFlags = 0x1200011

// expect notes a process that has to begin.
func (tg *trailing) expect(b birth) {
	i := len(tg.unborn)
	for i > 0 && tg.unborn[i-1].at > b.at {
		i--
	}
	tg.unborn = slices.Insert(tg.unborn, i, b)
}

// deliver lets the processes begin that nobody has forked.
func (w *mix) deliver() {
	for _, tg := range w.loads {
		for len(tg.unborn) > 0 && tg.unborn[0].at+birthSlack < w.m.Now() {
			b := tg.unborn[0]
			tg.unborn = slices.Delete(tg.unborn, 0, 1)
			tg.appear(b)
		}
	}
}

// fork lets a process begin as a child of t, if one has to begin about now. Else the fork
// fails.
func (tg *trailing) fork(c *machine.CPU, t *machine.Task) {
	if len(tg.unborn) == 0 || tg.unborn[0].at > c.Time+birthSlack {
		t.Stay().Ret = -eagain
		return
	}
	b := tg.unborn[0]
	tg.unborn = slices.Delete(tg.unborn, 0, 1)
	comm := b.life.life.Comm
	if tg.executes(b.life.life) {
		comm = t.Comm // until then
	}
	child := c.Fork(machine.TaskConfig{Comm: comm, Data: b.life, Born: tg.w.pick("born")}, cloneFlags)
	t.Stay().Ret = int64(child.PID)
}

// executes reports whether the process executes a program.
func (tg *trailing) executes(life *TrailLife) bool {
	return slices.ContainsFunc(life.Stay, func(at int32) bool { return tg.code.through(tg.code.tr.Stays[at], executing) })
}

// event carries out what a process on a trail does to itself or to others.
func (d *trail) event(c *machine.CPU, t *machine.Task, e machine.Event) {
	switch e {
	case machine.EvSchedFork:
		d.all.fork(c, t)
	case machine.EvSchedExec:
		if t.Comm != d.life.Comm {
			c.Exec(d.life.Comm, "/usr/bin/"+d.life.Comm)
		}
	}
}

// Where processes of the blended load are made, and where they get their programs: the
// event comes when all paths of the stay have been taken, in the function.
var births = []struct {
	through, in string
	event       machine.Event
}{
	{"copy_process", "kernel_clone", machine.EvSchedFork},
	{executing, "bprm_execve", machine.EvSchedExec},
}

// executing is the function through which a process comes that executes a program.
const executing = "load_elf_binary"
