package workload

import (
	"fmt"
	"slices"

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
}

// trailing is what the processes of a load have in common.
type trailing struct {
	w     *mix
	load  *Load
	stays []machine.Stay // by number: what it executes, and how it enters the kernel
	costs []machine.Time // how long its code takes
	sleep []bool         // the task sleeps in the stay
	yield []bool         // the stay is about giving the CPU to another task
	dies  []bool         // the process ends in the stay
	exec  []bool         // the process executes a program in the stay
	begin machine.Time
	// forks says that processes of the load fork each other. Those in unborn have not begun.
	forks  bool
	unborn []birth
}

// A process that has to give its CPU to another task computes until there is one. It looks
// for it so often, at such intervals, before it goes on with its trail.
const (
	maxTries = 300
	tryEvery = 10 * machine.Microsecond
)

// trailCost is how long a step of a trail takes, in ns.
const trailCost = 60

// trails adds the load with that name to the machine. Its code uses sites and slabs that
// are added to those of k, which is not booted yet.
func (w *mix) trails(k *machine.Kernel, names []string) ([]*trailing, error) {
	if len(names) == 0 {
		return nil, nil
	}
	shared, err := loadTrails()
	if err != nil {
		return nil, err
	}
	tr := new(Trails)
	*tr = *shared
	tr.Stays = slices.Clip(tr.Stays)
	var loads []*Load
	for _, name := range names {
		load, err := tr.load(name)
		if err != nil {
			return nil, err
		}
		loads = append(loads, load)
	}
	if err := w.addFunctions(tr.Modules); err != nil {
		return nil, err
	}
	ks := w.m.Kallsyms()
	b := trailBuilder{w: w, tr: tr, site: int32(len(k.Sites)), slab: int32(len(k.Slabs)), bears: slices.Contains(names, mixedLoad)}
	k.Sites, k.Slabs = slices.Clip(k.Sites), slices.Clip(k.Slabs)
	for _, s := range tr.Sites {
		site, err := tr.site(ks, s)
		if err != nil && !slices.Contains(names, mixedLoad) {
			return nil, err // blend leaves modules out
		}
		k.Sites = append(k.Sites, site)
	}
	for _, s := range tr.Slabs {
		s.Kind = uint16(len(k.Slabs))
		k.Slabs = append(k.Slabs, s)
	}
	n := len(tr.Stays)
	all := trailing{
		w: w, stays: make([]machine.Stay, n), costs: make([]machine.Time, n),
		sleep: make([]bool, n), yield: make([]bool, n), dies: make([]bool, n), exec: make([]bool, n),
	}
	used := make([]bool, n)
	for _, load := range loads {
		for i := range load.Lives {
			for _, at := range load.Lives[i].Stay {
				used[at] = true
			}
		}
	}
	for i, paths := range tr.Stays {
		if !used[i] {
			continue
		}
		all.stays[i], all.exec[i] = b.stay(paths)
		all.costs[i] = costOf(all.stays[i].Code)
		if last := &tr.Paths[paths[len(paths)-1]]; last.End == SwitchEnd {
			how := endOf(int64(last.Arg))
			all.sleep[i], all.yield[i], all.dies[i] = how == sleepsNow, how == goesOn, how == dies
		}
	}
	var list []*trailing
	for _, load := range loads {
		one := all
		one.load, one.forks = load, b.bears
		list = append(list, &one)
	}
	return list, nil
}

// addFunctions makes the functions of modules known, as far as they are not yet.
func (w *mix) addFunctions(mods []TrailModule) error {
	var load []machine.Module
	for _, mod := range mods {
		var missing []string
		for _, fn := range mod.Functions {
			if _, ok := w.m.Kallsyms().ByName(fn); !ok {
				missing = append(missing, fn)
			}
		}
		if len(missing) > 0 {
			load = append(load, machine.Module{Name: mod.Name, Functions: missing})
		}
	}
	if len(load) == 0 {
		return nil
	}
	return w.m.LoadModule(load...)
}

// site gives the address of a site in a kernel's symbol table.
func (tr *Trails) site(ks *machine.Kallsyms, s TrailSite) (machine.Site, error) {
	fn, ok := ks.ByName(tr.Names[s.Func])
	if !ok {
		return machine.Site{}, fmt.Errorf("workload: no function %q", tr.Names[s.Func])
	}
	site := machine.Site{Func: fn.Addr, Hidden: !fn.Traceable}
	if fn.Name == "ret_from_fork" {
		site.Hidden = true // a kernel thread has entered it before anything was traced
	}
	if s.Caller >= 0 {
		from, ok := ks.ByName(tr.Names[s.Caller])
		if !ok {
			return machine.Site{}, fmt.Errorf("workload: no function %q", tr.Names[s.Caller])
		}
		offset := uint64(s.Offset)
		if from.Size > 0 && offset >= from.Size {
			offset %= from.Size // a module's function, which is smaller here
		}
		site.Ret = from.Addr + offset
	}
	return site, nil
}

// trailBuilder makes the code of trails.
type trailBuilder struct {
	w          *mix
	tr         *Trails
	site, slab int32 // where the sites and slabs of the trails begin among the kernel's
	code       machine.Code
	open       []int32 // the sites of the functions that are open
	off        bool    // __schedule runs
	bears      bool    // processes fork each other
}

func (b *trailBuilder) op(kind machine.OpKind, arg int32) {
	op := machine.Op{Kind: kind, Arg: arg, Delta: trailCost}
	if b.off {
		op.Flags, op.Preempt = machine.FlagIRQsOff, 1
	}
	b.code = append(b.code, op)
}

func (b *trailBuilder) trace(e machine.Event, arg int32) {
	b.op(machine.OpTrace, arg)
	b.code[len(b.code)-1].Event = e
}

func (b *trailBuilder) pop(depth int) {
	for len(b.open) > depth {
		b.op(machine.OpReturn, 0)
		b.open = b.open[:len(b.open)-1]
	}
}

// stay makes the stay with these paths, and reports whether the process executes a program.
func (b *trailBuilder) stay(paths []int32) (s machine.Stay, executes bool) {
	b.code = nil
	for _, at := range paths {
		b.path(&b.tr.Paths[at])
	}
	if b.bears {
		executes = b.bear(paths)
	}
	b.pop(0)
	s = machine.Stay{Kind: machine.KernelWork, NR: -1, Code: b.code}
	switch name := b.tr.Names[b.tr.Sites[b.tr.Paths[paths[0]].Sites[0]].Func]; name {
	case "entry_SYSCALL_64_after_hwframe":
		s.Kind = machine.Syscall
		s.NR = int64(b.tr.Paths[paths[0]].NR)
		if s.NR < 0 && b.bears {
			s.NR = b.likelyCall(paths[0])
		}
		s.Code = b.w.crossing(s.Code)
	case "asm_exc_page_fault":
		s.Kind, s.Address, s.ErrorCode = machine.PageFault, 0x7f3be8000000, 6
	}
	return s, executes
}

// likelyCall is the number of a system call whose stack does not show which it is, because
// it has returned from there: mostly a close if a file is given up, and else a read.
func (b *trailBuilder) likelyCall(path int32) int64 {
	if slices.ContainsFunc(b.tr.Paths[path].Sites, func(s int32) bool { return b.tr.Names[b.tr.Sites[s].Func] == "__fput" }) {
		return sysClose
	}
	return sysRead
}

// path goes from where the code is to the end of p.
func (b *trailBuilder) path(p *TrailPath) {
	n := 0
	for n < len(p.Sites)-1 && n < len(b.open) && b.open[n] == p.Sites[n] {
		n++
	}
	b.pop(n)
	for i, at := range p.Sites[n:] {
		last := n+i == len(p.Sites)-1
		b.off = last && p.End == SwitchEnd
		b.op(machine.OpCall, b.site+at)
		b.open = append(b.open, at)
		switch name := b.tr.Names[b.tr.Sites[at].Func]; {
		case name == "do_task_dead":
			b.code[len(b.code)-1].Preempt = 1 // do_exit has disabled preemption
		case name == "exc_page_fault" && n+i == 1:
			b.trace(machine.EvPageFaultUser, 0)
		case name == "do_exit" && p.End == SwitchEnd && endOf(int64(p.Arg)) == dies:
			b.trace(machine.EvSchedExit, 0)
		}
	}
	switch p.End {
	case AllocEnd:
		b.trace(machine.EvKmemCacheAlloc, b.slab+p.Arg)
	case SwitchEnd:
		b.op(machine.OpSwitch, p.Arg)
		b.pop(len(b.open) - 1)
		b.off = false
	}
}

// costOf is how long code takes, without what is executed in between.
func costOf(code machine.Code) (ns machine.Time) {
	for i := range code {
		if code[i].Kind != machine.OpHalt {
			ns += machine.Time(code[i].Delta)
		}
	}
	return ns
}

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
		if d.tries++; d.tries%maxTries != 0 {
			return machine.Stay{Kind: machine.KernelWork, After: tryEvery}
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
	at, busy, away := d.life.Stay[d.pos], machine.Time(d.life.Busy[d.pos]), machine.Time(d.life.Away[d.pos])
	d.pos++
	if tg.yield[at] {
		d.late = append(d.late, at)
		return machine.Stay{Kind: machine.KernelWork, After: max(busy, 1)}
	}
	stay := tg.stayOf(t, at, max(busy, 1))
	if tg.sleep[at] {
		stay.Wait = machine.Wait{Timeout: max(away, 1), By: machine.Sleep}
	} else {
		d.away = away
	}
	if tg.dies[at] && !d.done {
		d.done = true
		tg.spawn(&trail{all: tg, life: d.life, round: d.round + 1}, c.ID)
	}
	return stay
}

// stayOf gives the stay with that number, after a time in user space.
func (tg *trailing) stayOf(t *machine.Task, at int32, after machine.Time) machine.Stay {
	s := tg.stays[at]
	s.After = max(after, tg.costs[at]+1) - tg.costs[at] // the captured time includes the kernel's
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
