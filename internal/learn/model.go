package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"ftracelab/machine"
	"ftracelab/workload"
)

// callgraphs are the captures of function_graph over all functions.
var callgraphs = []string{"callgraphs/big_mix", "callgraphs/big_files"}

// learn makes the model from the captures and writes it to out. full has the captures
// of the kernel that records what functions return.
func learn(o, full oracle, subsystems, kernel, out string) error {
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return err
	}
	ids, err := eventIDs(o)
	if err != nil {
		return err
	}
	cs, err := learnCallers(o, kernel, ks, ids)
	if err != nil {
		return err
	}
	if err := cs.learnMixed(subsystems, ids); err != nil {
		return err
	}
	l := &learner{cs: cs, ev: newEventTypes(ids), em: emitter{cs: cs, slabs: newSlabTable()}, calls: map[uint64]int{}}
	for _, dir := range callgraphs {
		records, err := readCapture(o, dir)
		if err != nil {
			return err
		}
		l.count(records)
		l.processes(records)
	}
	l.choose()
	l.finish()
	l.shares()
	if l.model.Returns, err = learnReturns(full, ks); err != nil {
		return err
	}
	return l.write(out)
}

// count adds the calls of a capture to the model's shares.
func (l *learner) count(records []record) {
	for i := range records {
		if r := &records[i]; r.typ == l.ev.entry {
			l.calls[l.cs.entry(r.u64(8))]++
		}
	}
}

// topCalls is the number of functions whose share the model has.
const topCalls = 40

// shares adds the functions that were called most often to the model.
func (l *learner) shares() {
	total := 0
	for fn, n := range l.calls {
		total += n
		l.model.Shares = append(l.model.Shares, workload.Share{Func: fn, Calls: n})
	}
	slices.SortFunc(l.model.Shares, func(a, b workload.Share) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Func, b.Func))
	})
	l.model.Shares = l.model.Shares[:min(topCalls, len(l.model.Shares))]
	l.model.Calls = total
}

// learner collects segments and makes the model from them.
type learner struct {
	cs    *callers
	ev    *eventTypes
	em    emitter
	procs []*process
	irqs  []*segment
	parts []*segment // what was cut out of the segments: context switches
	model workload.Model
	calls map[uint64]int // how often each function was called in the captures

	chosen    []*segment // the segments that became templates
	ofSegment map[*segment]int
}

// process is a task of a capture.
type process struct {
	pid           int
	comm          string
	first         uint64
	segs          []*segment
	kthread, idle bool
	index         int // the index of its script; -1: it has none
}

// processes splits the records of a capture by task, and those of each task into
// segments.
func (l *learner) processes(records []record) {
	comms := commsOf(records, l.ev)
	streams := map[int]*stream{}
	order := []int{}
	base := len(l.procs)
	switched := map[int]*record{} // by CPU
	for i := range records {
		r := &records[i]
		key := r.pid
		if key == 0 {
			key = -1 - r.cpu
		}
		s := streams[key]
		if s == nil {
			comm := comms[r.pid]
			s = &stream{ev: l.ev, cs: l.cs, comm: comm, idle: r.pid == 0, kthread: isKthread(comm) || l.ev.said != nil && isServant(comm)}
			streams[key] = s
			order = append(order, key)
			l.procs = append(l.procs, &process{
				pid: key, comm: comm, first: r.time, kthread: s.kthread, idle: s.idle, index: -1,
			})
		}
		s.add(r, switched[r.cpu])
		if l.ev.byID[r.typ] == machine.EvSchedSwitch {
			switched[r.cpu] = r
		}
	}
	for i, key := range order {
		s := streams[key]
		s.close()
		l.procs[base+i].segs = s.done
		l.irqs = append(l.irqs, s.irqs...)
	}
	for _, p := range l.procs[base:] {
		for _, g := range p.segs {
			g.childOf(l.procs[base:])
			l.parts = append(l.parts, g.cutSwitches(l.cs)...)
		}
	}
}

func (g *segment) childOf(procs []*process) {
	for _, p := range procs {
		if g.child != 0 && p.pid == g.child {
			g.forked = p
		}
	}
}

// commsOf finds the first name of each task.
func commsOf(records []record, ev *eventTypes) map[int]string {
	comms := map[int]string{}
	note := func(pid int, comm string) {
		if comms[pid] == "" {
			comms[pid] = comm
		}
	}
	for i := range records {
		r := &records[i]
		switch ev.byID[r.typ] {
		case machine.EvSchedSwitch:
			note(int(r.u32(24)), r.str(8, 16))
			note(int(r.u32(56)), r.str(40, 16))
		case machine.EvSchedFork:
			note(int(r.u32(44)), r.str(28, 16))
		}
	}
	return comms
}

func isKthread(comm string) bool {
	for _, p := range []string{"rcu_", "kworker", "ksoftirqd", "migration", "kcompactd"} {
		if strings.HasPrefix(comm, p) {
			return true
		}
	}
	return false
}

// isServant reports whether a kernel thread works for the processes of an activity.
func isServant(comm string) bool {
	return strings.HasPrefix(comm, "jbd2/") || strings.HasPrefix(comm, "kswapd")
}

// signature gives what a template must have in common with the segments for which it
// stands. Wake-ups count in short segments only, because there they are the purpose of
// the segment.
func signature(g *segment) string {
	if word, _, _ := strings.Cut(g.key, " "); word == "switch" || word == "finish" || word == "tail" {
		return g.key
	}
	seen := map[string]bool{}
	for _, it := range g.items {
		switch {
		case it.kind == scheduling && it.arg != machine.StateRunning && it.arg != machine.StatePreempted:
			seen[" sleeps"] = true
		case it.kind == scheduling && g.key == "exit":
			seen[" yields"] = true
		case it.kind != event:
		case it.event == machine.EvSchedFork || it.event == machine.EvSchedExec || it.event == machine.EvSchedExit,
			it.event == machine.EvSchedWaking && len(g.items) < shortSegment:
			seen[" "+it.event.Template()] = true
			if it.event == machine.EvSchedWaking && strings.HasPrefix(g.key, "irq ") {
				seen[fmt.Sprintf(" of %d", it.arg)] = true // it matters which task an interrupt wakes
			}
		}
	}
	if seen[" sched_process_fork"] || seen[" sched_process_exec"] || seen[" sched_process_template"] {
		delete(seen, " sleeps")
		delete(seen, " sched_wakeup_template")
	}
	keys := slices.Collect(maps.Keys(seen))
	slices.Sort(keys)
	return g.key + strings.Join(keys, "")
}

// shortSegment is the number of items below which a wake-up in a segment matters.
const shortSegment = 1000

// variants gives the number of templates for a signature that has count segments with
// mean operations on average. It keeps the number of different kernel stacks, and the
// size of the file, low.
func variants(mean, count int) int {
	n := 1
	if count >= 20 && mean < 300 {
		n = 2
	}
	if count >= 100 && mean < 1000 {
		n = 4
	}
	return n
}

// maxOps is how many operations a template may have, unless there is no shorter one.
const maxOps = 9000

// choose chooses the segments that become templates: for each signature, the most
// common shapes.
func (l *learner) choose() {
	bySig := map[string][]*segment{}
	var sigs []string
	addSeg := func(g *segment) {
		sig := signature(g)
		if bySig[sig] == nil {
			sigs = append(sigs, sig)
		}
		bySig[sig] = append(bySig[sig], g)
	}
	for _, p := range l.procs {
		for _, g := range p.segs {
			if !rare[g.nr] {
				addSeg(g)
			}
		}
	}
	for _, g := range slices.Concat(l.irqs, l.parts) {
		addSeg(g)
	}
	l.ofSegment = map[*segment]int{}
	slices.Sort(sigs)
	for _, sig := range sigs {
		l.chooseOf(bySig[sig])
	}
	// This is done once more, so that the table of sites has only the sites of chosen
	// segments.
	l.cs.asm = machine.NewAssembler(l.cs.ks, 0)
	l.em.slabs = newSlabTable()
	for i, g := range l.chosen {
		l.model.Templates[i].Ops = l.em.emit(g).Ops
		if g.key == "idle" { // CPU 0 came to its idle loop in another way
			boot := *g
			boot.key = "idle0"
			t := l.em.emit(&boot)
			t.Weight = l.model.Templates[i].Weight
			l.model.Templates = append(l.model.Templates, t)
		}
	}
}

// chooseOf chooses the templates for one signature. The segments are sorted by length
// and divided into groups with equal work. The segment that is nearest to the mean of
// its group stands for the whole group, so that the functions keep their shares.
func (l *learner) chooseOf(segs []*segment) {
	length := map[*segment]int{}
	total := 0
	for _, g := range segs {
		length[g] = len(g.items)
		total += len(g.items)
	}
	slices.SortStableFunc(segs, func(a, b *segment) int { return cmp.Compare(length[a], length[b]) })
	parts := variants(total/len(segs), len(segs))
	if strings.HasPrefix(segs[0].key, "irq ") {
		parts = min(parts, 2)
	}
	part, work, first := 1, 0, 0
	for i, g := range segs {
		work += length[g]
		if i == len(segs)-1 || work*parts >= part*total {
			l.represent(segs[first:i+1], length)
			first = i + 1
			for work*parts >= part*total {
				part++
			}
		}
	}
}

// represent makes a template for segs, which are sorted by length.
func (l *learner) represent(segs []*segment, length map[*segment]int) {
	mean := 0
	for _, g := range segs {
		mean += length[g]
	}
	mean = min(mean/len(segs), maxOps)
	best := slices.MinFunc(segs, func(a, b *segment) int {
		return cmp.Compare(abs(length[a]-mean), abs(length[b]-mean))
	})
	for _, g := range segs {
		l.ofSegment[g] = len(l.model.Templates)
	}
	l.chosen = append(l.chosen, best)
	l.model.Templates = append(l.model.Templates, workload.Template{Key: best.key, Weight: len(segs)})
}

func abs(n int) int { return max(n, -n) }

// finish makes the scripts.
func (l *learner) finish() {
	for _, p := range l.procs {
		if len(p.segs) > 0 && !p.idle {
			p.index = len(l.model.Scripts)
			l.model.Scripts = append(l.model.Scripts, workload.Script{Comm: p.comm, Kernel: p.kthread, Born: -1})
		}
	}
	for _, p := range l.procs {
		if p.index >= 0 {
			l.script(p)
		}
	}
	l.model.Sites = l.cs.asm.Sites
	l.model.Slabs = l.em.slabs.list
	for p, addr := range l.cs.points {
		l.model.Points = append(l.model.Points, workload.PointAddr{Point: p, Addr: addr})
	}
	slices.SortFunc(l.model.Points, func(a, b workload.PointAddr) int {
		return cmp.Or(cmp.Compare(a.Point.Func, b.Point.Func), cmp.Compare(a.Point.Event, b.Point.Event))
	})
}

// maxUserTime is the longest time in user space between two stays, in ns.
const maxUserTime = 2_000_000

// rare are system calls that scripts leave out. They occur only a few times, and have
// more different kernel stacks than all others together.
//
// Departure: the workload has no network.
var rare = map[int64]bool{41: true, 42: true, 43: true, 49: true, 50: true, 288: true}

func (l *learner) script(p *process) {
	sc := &l.model.Scripts[p.index]
	prev := p.first
	for _, g := range p.segs {
		if g.key == "born" {
			sc.Born = l.ofSegment[g]
			prev = g.end
			continue
		}
		if g.key == "exit" || rare[g.nr] {
			continue
		}
		st := workload.ScriptStay{
			Template: l.ofSegment[g], After: uint32(min((g.start-min(prev, g.start))/slowness, maxUserTime)),
			NR: int32(g.nr), Args: g.args, Ret: g.ret, Child: -1,
		}
		if g.forked != nil {
			st.Child = g.forked.index
			st.Thread = g.nr == 56 && g.args[0]&0x10000 != 0 || g.nr == 435
		}
		if g.exec != nil {
			st.Path = g.exec.dynamic(8)
			st.Exec = st.Path[strings.LastIndexByte(st.Path, '/')+1:]
		}
		sc.Stays = append(sc.Stays, st)
		prev = g.end
	}
}

func (l *learner) write(out string) error {
	ops := 0
	keys := map[string][3]int{}
	for _, t := range l.model.Templates {
		ops += len(t.Ops.Kind)
		k := keys[t.Key]
		keys[t.Key] = [3]int{k[0] + 1, k[1] + len(t.Ops.Kind), k[2] + t.Weight}
	}
	stays := 0
	for _, s := range l.model.Scripts {
		stays += len(s.Stays)
	}
	fmt.Printf("%d templates, %d operations, %d sites (%d paths known, %d made up), %d slabs, %d points, %d scripts with %d stays\n",
		len(l.model.Templates), ops, len(l.model.Sites), l.cs.known, l.cs.made, len(l.model.Slabs), len(l.model.Points), len(l.model.Scripts), stays)
	if os.Getenv("LEARN_VERBOSE") != "" {
		for k, v := range keys {
			fmt.Println(k, v)
		}
	}
	var b bytes.Buffer
	if err := l.model.Encode(&b); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}
