package main

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ftracelab/machine"
	"ftracelab/workload"
)

// trailCaptures are the captures with stacks from which trails are learned, by load. The
// last one is of a kernel of another configuration: see foreign.
var trailCaptures = []struct{ load, folder string }{
	{"tools", "debian/stacks/kmem_stack"},
	{"talk", "debian/stacks/sched_stack"},
	{"desk", "stacks_kmem"},
	{"desk calls", "stacks_function"},
	{"desk switches", "stacks_sched"},
	{"tools calls", foreign + "/savings/b_off/func_stack"},
}

// trailLearner collects trails.
type trailLearner struct {
	oracle  string // the folder of its captures
	ids     map[string]int
	syms    []machine.Symbol
	modules []machine.Symbol // of the capture
	out     workload.Trails

	names map[string]int32
	sites map[workload.TrailSite]int32
	slabs map[machine.Slab]int32
	paths map[string]int32
	stays map[string]int32
	owner map[string]string // the module of a function
	calls map[string]int32  // the numbers of system calls
	// alias has our name for each function of a foreign kernel, "" if there is none; it is nil
	// for a capture of our kernel. moved has our offsets for those of its calls.
	alias map[string]string
	moved map[workload.TrailSite]uint32
	lost  int // stacks with an address that no symbol table has
}

// learnTrails makes the trails from the captures and writes them to out.
func learnTrails(oracleDir, subsystems, out string) error {
	o := oracle(filepath.Join(oracleDir, "debian"))
	ids, err := eventIDs(o)
	if err != nil {
		return err
	}
	syms, err := readSymbols(o)
	if err != nil {
		return err
	}
	l := &trailLearner{
		oracle: oracleDir, ids: ids, names: map[string]int32{}, sites: map[workload.TrailSite]int32{}, slabs: map[machine.Slab]int32{},
		paths: map[string]int32{}, stays: map[string]int32{}, owner: map[string]string{},
	}
	for _, s := range syms {
		if s.Module == "" {
			l.syms = append(l.syms, s)
		}
	}
	if l.calls, err = syscallNumbers(); err != nil {
		return err
	}
	for _, c := range trailCaptures {
		dir := filepath.Join(subsystems, c.folder)
		if strings.Contains(c.folder, "/") {
			dir = filepath.Join(oracleDir, c.folder)
		}
		if err := l.capture(c.load, dir); err != nil {
			return err
		}
	}
	l.ownModules()
	fmt.Printf("%d names, %d sites, %d paths, %d stays, %d slabs; %d stacks left out\n", len(l.out.Names), len(l.out.Sites),
		len(l.out.Paths), len(l.out.Stays), len(l.out.Slabs), l.lost)
	// A gob numbers the types of a program in the order in which it meets them. So that the
	// bytes are always the same, it meets those of the model first.
	if err := gob.NewEncoder(io.Discard).Encode(&workload.Model{}); err != nil {
		return err
	}
	var b bytes.Buffer
	e := gob.NewEncoder(&b)
	if err := e.Encode(&l.out.TrailTables); err != nil {
		return err
	}
	l.out.TrailTables = workload.TrailTables{}
	if err := e.Encode(&l.out); err != nil {
		return err
	}
	return writeGzip(out, b.Bytes())
}

// ownModules lists the functions of modules.
func (l *trailLearner) ownModules() {
	byName := map[string][]string{}
	for fn, module := range l.owner {
		byName[module] = append(byName[module], fn)
	}
	for _, name := range sortedNames(byName) {
		slices.Sort(byName[name])
		l.out.Modules = append(l.out.Modules, workload.TrailModule{Name: name, Functions: byName[name]})
	}
}

func sortedNames[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// walker is a task of a capture whose trail is followed.
type walker struct {
	life    workload.TrailLife
	stay    []int32 // the paths of the stay that is collected
	last    uint64  // when it was seen last
	busy    uint64
	in      uint64 // when it was switched in; 0: not known
	waiting bool   // its last stay has ended with a sleep
}

// capture adds the tasks of a capture to a load.
func (l *trailLearner) capture(load, dir string) error {
	records, err := readFolder(dir)
	if err != nil {
		return err
	}
	modules := filepath.Join(dir, "kallsyms.modules.txt")
	if _, err := os.Stat(modules); err != nil {
		modules = filepath.Join(filepath.Dir(dir), "kallsyms.modules.txt")
	}
	if l.modules, err = moduleTable(modules); err != nil && !os.IsNotExist(err) {
		return err
	}
	if strings.HasPrefix(dir, filepath.Join(l.oracle, foreign)) {
		if err := l.translate(); err != nil {
			return err
		}
	}
	comms := commLines(filepath.Join(dir, "saved_cmdlines"))
	begin, threads := records[0].time, false
	tasks, order := map[int]*walker{}, []int{}
	task := func(pid int, at uint64) *walker {
		w := tasks[pid]
		if w == nil {
			w = &walker{life: workload.TrailLife{Comm: cmp.Or(comms[pid], "sh"), Start: at - begin}, last: at}
			tasks[pid], order = w, append(order, pid)
		}
		return w
	}
	events := map[int]*record{} // the event to which the next stack belongs, by CPU
	for i := range records {
		r := &records[i]
		if r.typ != l.ids["ftrace/kernel_stack"] {
			events[r.cpu] = r
			if r.typ == l.ids["sched/sched_switch"] && r.u32(56) != 0 {
				l.arrive(task(int(r.u32(56)), r.time), r.time)
			}
			continue
		}
		e := events[r.cpu]
		if e == nil || e.pid == 0 || r.pid != e.pid {
			continue
		}
		w := task(e.pid, e.time)
		if e.typ == l.ids["sched/sched_switch"] {
			threads = true
			w.life.Comm = e.str(8, 16)
		}
		l.stack(w, e, r)
	}
	at := slices.IndexFunc(l.out.Loads, func(o workload.Load) bool { return o.Name == load })
	if at < 0 {
		at = len(l.out.Loads)
		l.out.Loads = append(l.out.Loads, workload.Load{Name: load})
	}
	ld := &l.out.Loads[at]
	ld.Threads = ld.Threads || threads
	ld.Span = max(ld.Span, records[len(records)-1].time-begin)
	for _, pid := range order {
		w := tasks[pid]
		l.file(w, 0)
		if len(w.life.Stay) > 0 && !known(w.life.Comm, ld.Threads) {
			ld.Lives = append(ld.Lives, w.life)
		}
	}
	return nil
}

// known recognizes kernel threads that the machine has in the scenario. If threads is set,
// the load has most of them.
func known(comm string, threads bool) bool {
	if strings.HasPrefix(comm, "ksoftirqd") || strings.HasPrefix(comm, "migration/") {
		return true
	}
	return !threads && (strings.HasPrefix(comm, "rcu_") || strings.HasPrefix(comm, "kcompactd"))
}

// arrive notes that a task was switched in.
func (l *trailLearner) arrive(w *walker, now uint64) {
	if n := len(w.life.Away); n > 0 && w.waiting && w.life.Away[n-1] == 0 {
		w.life.Away[n-1] = rounded(now - w.last)
	}
	w.in, w.last, w.waiting = now, now, false
}

func clamp(ns uint64) uint32 { return uint32(min(ns, 1<<32-1)) }

// longGap is how long a task can have computed between two events. If more time has
// passed, it has slept.
const longGap = 2_000_000

// shortGap is how long a task takes at most between two stacks of one stay.
const shortGap = 60_000

// stack adds the stack r of the event e to the trail of its task.
func (l *trailLearner) stack(w *walker, e, r *record) {
	path, ok := l.path(e, r)
	if !ok {
		l.lost++
		return
	}
	p := &l.out.Paths[path]
	if l.root(p) == "ret_from_fork_asm" {
		w.life.Kernel = true
	}
	gap := e.time - w.last
	if p.End == workload.SwitchEnd {
		l.file(w, 0)
		w.stay, w.busy = []int32{path}, gap
		l.file(w, 0)
		w.last, w.waiting = e.time, true
		return
	}
	switch last := len(w.stay) - 1; {
	case last >= 0 && gap < shortGap && l.extends(w.stay[last], path):
		w.stay[last] = path
	case last >= 0 && gap < shortGap && l.common(w.stay[last], path) >= 3 && !slices.Contains(w.stay, path) && len(w.stay) < 12:
		w.stay = append(w.stay, path)
	default:
		away := uint64(0)
		if gap > longGap {
			away, gap = gap, 0
		}
		l.file(w, away)
		w.stay, w.busy = []int32{path}, gap
		if len(w.life.Stay) == 0 {
			w.life.Start += away
		}
	}
	w.last = e.time
}

// file ends the stay that is collected. The task was away for some time afterwards.
func (l *trailLearner) file(w *walker, away uint64) {
	if len(w.stay) == 0 {
		return
	}
	key := fmt.Sprint(w.stay)
	at, ok := l.stays[key]
	if !ok {
		at = int32(len(l.out.Stays))
		l.stays[key] = at
		l.out.Stays = append(l.out.Stays, w.stay)
	}
	w.life.Stay = append(w.life.Stay, at)
	w.life.Busy = append(w.life.Busy, rounded(w.busy))
	w.life.Away = append(w.life.Away, rounded(away))
	w.stay = nil
}

// rounded keeps two digits of a time, so that the file is small.
func rounded(ns uint64) uint32 {
	step := uint64(1)
	for ns/step >= 100 {
		step *= 10
	}
	return clamp((ns + step/2) / step * step)
}

// extends reports whether the path b goes on where a ends.
func (l *trailLearner) extends(a, b int32) bool {
	p, q := &l.out.Paths[a], &l.out.Paths[b]
	return p.End == workload.CallEnd && len(q.Sites) > len(p.Sites) && l.common(a, b) == len(p.Sites)
}

// common is how many functions two paths have in common.
func (l *trailLearner) common(a, b int32) int {
	p, q := l.out.Paths[a].Sites, l.out.Paths[b].Sites
	n := 0
	for n < len(p) && n < len(q) && p[n] == q[n] {
		n++
	}
	return n
}

func (l *trailLearner) root(p *workload.TrailPath) string {
	return l.out.Names[l.out.Sites[p.Sites[0]].Func]
}

// path finds or adds the path of a stack. It fails for stacks with addresses that are not
// known, and for those that the machine makes by itself: of interrupts, and of tasks that
// run for the first time.
func (l *trailLearner) path(e, r *record) (int32, bool) {
	n := min(int(r.u32(8)), (len(r.data)-stackFields)/8)
	p := workload.TrailPath{}
	first := 0 // the innermost address that belongs to the path
	switch e.typ {
	case l.ids["sched/sched_switch"]:
		first, p.End, p.Arg = 2, workload.SwitchEnd, int32(e.u64(32))
	case l.ids["kmem/kmem_cache_alloc"]:
		first, p.End, p.Arg = 1, workload.AllocEnd, l.slab(e)
	}
	p.NR = -1
	caller, offset := int32(-1), uint32(0)
	for i := n - 1; i >= first; i-- {
		ip := r.u64(stackFields + 8*i)
		if ip == 0 || ip == ^uint64(0) || ip == trampoline {
			continue
		}
		s := l.symbol(ip)
		if s == nil || strings.HasPrefix(s.Name, "asm_sysvec") || strings.HasPrefix(s.Name, "asm_common_interrupt") {
			return 0, false
		}
		if s.Module != "" {
			l.owner[s.Name] = s.Module
		}
		name := s.Name
		if l.alias != nil {
			if name = l.alias[name]; name == "" {
				continue
			}
		}
		site := workload.TrailSite{Func: l.name(name), Caller: caller, Offset: offset}
		if l.alias != nil {
			site.Offset = l.offset(site)
		}
		at, ok := l.sites[site]
		if !ok {
			at = int32(len(l.out.Sites))
			l.sites[site] = at
			l.out.Sites = append(l.out.Sites, site)
		}
		p.Sites = append(p.Sites, at)
		if nr, ok := l.calls[callOf(name)]; ok && p.NR < 0 {
			p.NR = nr
		}
		caller, offset = site.Func, uint32(ip-s.Addr)
	}
	if len(p.Sites) < 3 {
		return 0, false
	}
	key := fmt.Sprint(p)
	at, ok := l.paths[key]
	if !ok {
		at = int32(len(l.out.Paths))
		l.paths[key] = at
		l.out.Paths = append(l.out.Paths, p)
	}
	return at, true
}

// trampoline stands on a stack for a trampoline of ftrace (FTRACE_TRAMPOLINE_MARKER).
const trampoline = 1<<31 - 1

func (l *trailLearner) name(s string) int32 {
	at, ok := l.names[s]
	if !ok {
		at = int32(len(l.out.Names))
		l.names[s] = at
		l.out.Names = append(l.out.Names, s)
	}
	return at
}

// slab gives the index of what a kmem_cache_alloc asks for.
func (l *trailLearner) slab(e *record) int32 {
	s := machine.Slab{
		Req: uint32(e.u64(24)), Alloc: uint32(e.u64(32)), GFP: uint32(e.u64(40)), Accounted: len(e.data) > 52 && e.data[52] != 0,
	}
	at, ok := l.slabs[s]
	if !ok {
		at = int32(len(l.out.Slabs))
		l.slabs[s] = at
		l.out.Slabs = append(l.out.Slabs, s)
	}
	return at
}
