package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ftracelab/machine"
	evt "ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload"
)

// source says from which capture an activity is learned, and what of it.
type source struct {
	name, doc string
	dir       string
	systems   []string // whose events are taken from the capture with their arguments
	leader    string   // the program of the process that begins a round
	others    []string // how the names of the other processes begin
	threads   []string // how the names of the kernel threads begin
	only      bool     // only what has such an event
}

// sources are the activities. The captures were taken with internal/learn/load.
var sources = []source{
	{
		name: "files", doc: "a process makes, writes, reads, renames and removes files on an ext4, with its journal, writeback and block device",
		dir: "files/ext4_graph", systems: []string{"ext4", "jbd2", "writeback", "block", "filemap"}, leader: "fsop",
		threads: []string{"jbd2/", "kworker/"},
	},
	{
		name: "network", doc: "two processes talk through TCP and UDP on the loopback",
		dir: "net/net_graph", systems: []string{"net", "tcp", "sock", "skb", "napi", "udp", "fib", "fib6", "qdisc", "neigh"}, leader: "net",
		others: []string{"net-server"},
	},
	{
		name: "device", doc: "a ping through a network device",
		dir: "net/net_graph", systems: []string{"net", "tcp", "sock", "skb", "napi", "udp", "fib", "fib6", "qdisc", "neigh"}, leader: "busybox",
	},
	{
		name: "memory", doc: "a process writes to memory when none is free: kswapd, kcompactd and the process itself reclaim some, and pages go to the swap",
		dir: "mem/mem_graph", systems: []string{"vmscan", "compaction", "migrate", "block"}, leader: "eat",
		threads: []string{"kswapd", "kcompactd", "kworker/"}, only: true,
	},
	{
		name: "modules", doc: "a module is loaded",
		dir: "files/module_graph", systems: []string{"module", "initcall", "notifier", "cgroup", "percpu", "net"}, leader: "insmod", only: true,
	},
	{
		name: "unload", doc: "a module is unloaded",
		dir: "files/module_graph", systems: []string{"module", "initcall", "notifier", "cgroup", "percpu", "net"}, leader: "rmmod", only: true,
	},
}

// learnActivities makes the embedded activities from captures in dir. o has the captures
// that show who calls whom.
func learnActivities(o oracle, dir oracle, kernel, out, formats string) error {
	if formats != "" {
		if err := writeFormats(dir, formats); err != nil {
			return err
		}
	}
	modules, ks, err := readModules(dir)
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
	made := &workload.Activities{Modules: modules}
	em := emitter{cs: cs, slabs: newSlabTable(), said: made}
	for i := range sources {
		if err := learnActivity(&sources[i], dir, &em, ids); err != nil {
			return fmt.Errorf("%s: %w", sources[i].name, err)
		}
	}
	made.Sites, made.Slabs = cs.asm.Sites, em.slabs.list
	return writeActivities(made, cs, out)
}

// readModules reads the modules' functions of the boot in which files were used, and
// makes a symbol table with them.
func readModules(dir oracle) ([]workload.ActivityModule, *machine.Kallsyms, error) {
	text, err := dir.text("files/ext4_graph/kallsyms.modules.txt")
	if err != nil {
		return nil, nil, err
	}
	loaded, _ := dir.text("files/module_graph/kallsyms.loaded.txt")
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return nil, nil, err
	}
	list, err := dir.text("files/ext4_graph/modules.txt")
	if err != nil {
		return nil, nil, err
	}
	ends := map[string]uint64{}
	for line := range strings.Lines(list) {
		var name, refs, by, state string
		var size, base uint64
		if _, err := fmt.Sscanf(line, "%s %d %s %s %s 0x%x", &name, &size, &refs, &by, &state, &base); err == nil {
			ends[name] = base + size
		}
	}
	byName := map[string][]machine.Symbol{}
	var names []string
	for line := range strings.Lines(text + loaded) {
		var addr uint64
		var typ, name, mod string
		if _, err := fmt.Sscanf(line, "%x %s %s [%s", &addr, &typ, &name, &mod); err != nil || typ != "t" && typ != "T" || strings.HasPrefix(name, "__pfx_") {
			continue
		}
		mod = strings.TrimSuffix(mod, "]")
		if mod == "9p" || mod == "9pnet" || mod == "netfs" || mod == "9pnet_virtio" || mod == "overlay" {
			continue // the symbol table has those that matter
		}
		if byName[mod] == nil {
			names = append(names, mod)
		}
		if !slices.ContainsFunc(byName[mod], func(s machine.Symbol) bool { return s.Addr == addr }) {
			byName[mod] = append(byName[mod], machine.Symbol{Addr: addr, Name: name, Module: mod, Type: typ[0], Traceable: !strings.HasSuffix(name, "cleanup_module"), Endbr: true}) // .exit.text is not traced
		}
	}
	var modules []workload.ActivityModule
	var all []machine.Symbol
	for _, name := range names {
		syms := byName[name]
		slices.SortStableFunc(syms, func(a, b machine.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
		for i := range syms {
			end := ends[name]
			if i+1 < len(syms) {
				end = syms[i+1].Addr
			}
			syms[i].Size = min(max(end, syms[i].Addr+16)-syms[i].Addr, 1<<16)
		}
		modules = append(modules, workload.ActivityModule{Name: name, Symbols: syms})
		all = append(all, syms...)
	}
	return modules, ks.With(all), nil
}

// learnActivity adds one activity to em.said.
func learnActivity(src *source, dir oracle, em *emitter, ids map[string]int) error {
	types, err := typesOf(dir, src.dir)
	if err != nil {
		return err
	}
	records, err := readCapture(dir, src.dir)
	if err != nil {
		return err
	}
	if err := moveModules(records, dir, src.dir, em.cs.ks, ids); err != nil {
		return err
	}
	l := &learner{cs: em.cs, ev: newEventTypes(ids), calls: map[uint64]int{}}
	l.ev.said = map[int]*evt.Type{}
	for _, t := range types {
		if slices.Contains(src.systems, t.System) {
			l.ev.said[t.ID] = t
			delete(l.ev.byID, t.ID)
		}
	}
	l.processes(records)
	a := workload.Activity{Name: src.name, Doc: src.doc}
	roles := l.roles(src, records)
	if len(roles) == 0 {
		return fmt.Errorf("no process %s", src.leader)
	}
	em.roles, em.types, em.names = map[int]int{}, l.ev.said, map[string]bool{}
	em.rounds = roundsOf(records, l.ev.said)
	for i, p := range roles {
		em.roles[p.pid] = em.actors + i
	}
	em.actors += len(roles)
	pieces := l.causes(em, roles)
	for i := range pieces {
		t := em.emit(pieces[i].seg)
		em.said.Pieces = append(em.said.Pieces, workload.ActivityPiece{
			Template: len(em.said.Templates), After: pieces[i].after / slowness, IRQ: pieces[i].irq, Handler: pieces[i].handler,
		})
		em.said.Templates = append(em.said.Templates, t)
	}
	for _, p := range roles {
		r := workload.Role{Comm: p.comm, Kernel: p.kthread}
		prev := p.segs[0].start
		for _, g := range p.segs {
			if src.only && !saysSomething([]*segment{g}) {
				continue
			}
			st := workload.ScriptStay{
				Template: len(em.said.Templates), After: uint32(min((g.start-min(prev, g.start))/slowness, maxUserTime)),
				NR: int32(g.nr), Args: g.args, Ret: g.ret, Child: -1,
			}
			em.said.Templates = append(em.said.Templates, em.emit(g))
			r.Stays = append(r.Stays, st)
			prev = g.end
		}
		a.Roles = append(a.Roles, r)
	}
	for name := range em.names {
		a.Events = append(a.Events, name)
	}
	slices.Sort(a.Events)
	a.Step = em.rounds.step
	em.said.List = append(em.said.List, a)
	n := 0
	for _, r := range a.Roles {
		n += len(r.Stays)
	}
	fmt.Printf("%s: %d events, %d roles, %d stays, %d pieces\n", a.Name, len(a.Events), len(a.Roles), n, len(pieces))
	return nil
}

// typesOf gives the types of the events of a capture: the kernel's own, and those of its
// modules, whose ids belong to the boot.
func typesOf(dir oracle, name string) (types []*evt.Type, err error) {
	for _, t := range (events.Kernel{}).Events() {
		if !events.OfModule(t) {
			types = append(types, t)
		}
	}
	files, err := filepath.Glob(filepath.Join(string(dir), name, "events/*/*/format"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t, err := evt.ParseFormat(filepath.Base(filepath.Dir(filepath.Dir(file))), b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		types = append(types, t)
	}
	return types, nil
}

// moveModules replaces the addresses of modules' functions in the records by those of ks:
// each boot loads modules at other addresses.
func moveModules(records []record, dir oracle, name string, ks *machine.Kallsyms, ids map[string]int) error {
	text, err := dir.text(name + "/kallsyms.modules.txt")
	if err != nil {
		return err
	}
	if more, err := dir.text(name + "/kallsyms.loaded.txt"); err == nil {
		text += more
	}
	to := map[uint64]uint64{}
	for line := range strings.Lines(text) {
		var addr uint64
		var typ, fn string
		if _, err := fmt.Sscanf(line, "%x %s %s", &addr, &typ, &fn); err != nil || typ != "t" && typ != "T" || strings.HasPrefix(fn, "__pfx_") {
			continue
		}
		if s, ok := ks.ByName(fn); ok {
			to[addr] = s.IP()
			to[addr+4] = s.IP()
		}
	}
	for i := range records {
		r := &records[i]
		if r.typ != ids["ftrace/funcgraph_entry"] && r.typ != ids["ftrace/funcgraph_exit"] {
			continue
		}
		if addr, ok := to[r.u64(8)]; ok {
			for b := range 8 {
				r.data[8+b] = byte(addr >> (8 * b))
			}
		}
	}
	return nil
}

// roles chooses the tasks of an activity and cuts their segments to size: those of the
// leader begin after its exec and end before its exit.
func (l *learner) roles(src *source, records []record) (roles []*process) {
	var rest []*process
	var from, to uint64
	for _, p := range l.procs {
		if p.idle || len(p.segs) == 0 {
			continue
		}
		if !p.kthread && len(roles) == 0 {
			if at := execOf(p, src.leader); at >= 0 {
				p.comm = src.leader
				p.segs = worth(p.segs[at+1:])
				if len(p.segs) > 0 {
					from, to = p.segs[0].start, p.segs[len(p.segs)-1].end
					roles = append(roles, p)
				}
				continue
			}
		}
		rest = append(rest, p)
	}
	names := lastNames(records, l.ev)
	for _, p := range rest {
		name := names[p.pid]
		others := src.others
		if p.kthread {
			others = src.threads
		}
		if len(roles) == 0 || !slices.ContainsFunc(others, func(o string) bool { return strings.HasPrefix(name, o) }) {
			continue
		}
		p.comm = name
		p.segs = slices.DeleteFunc(worth(p.segs), func(g *segment) bool { return g.start < from || g.start > to })
		if len(p.segs) > 0 && saysSomething(p.segs) {
			roles = append(roles, p)
		}
	}
	return roles
}

// execOf finds the segment in which p executes a program; -1 if there is none.
func execOf(p *process, program string) int {
	return slices.IndexFunc(p.segs, func(g *segment) bool {
		return g.exec != nil && filepath.Base(g.exec.dynamic(8)) == program
	})
}

// worth leaves out what an activity does not repeat: the begin and the end of a process.
func worth(segs []*segment) (kept []*segment) {
	for _, g := range segs {
		if g.key == "born" || g.key == "exit" || g.key == "sys" || g.forked != nil || g.exec != nil || g.nr == 231 || g.nr == 56 || g.nr == 61 {
			continue
		}
		kept = append(kept, g)
	}
	return kept
}

func saysSomething(segs []*segment) bool {
	for _, g := range segs {
		for i := range g.items {
			if g.items[i].kind == saying {
				return true
			}
		}
	}
	return false
}

// lastNames finds the last name of each task.
func lastNames(records []record, ev *eventTypes) map[int]string {
	names := map[int]string{}
	for i := range records {
		if r := &records[i]; ev.byID[r.typ] == machine.EvSchedSwitch {
			names[int(r.u32(24))] = r.str(8, 16)
		}
	}
	return names
}

// firstModuleID is the id of the first event of the modules that activities use. In the
// captured kernel, such ids depend on what was loaded before.
const firstModuleID = 2000

var idLine = regexp.MustCompile(`(?m)^ID: \d+$`)

// writeFormats writes the format files of the modules' events.
func writeFormats(dir oracle, out string) error {
	var b bytes.Buffer
	id := firstModuleID
	for _, system := range []string{"ext4", "jbd2"} {
		files, err := filepath.Glob(filepath.Join(string(dir), "files/ext4_graph/events", system, "*/format"))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text = idLine.ReplaceAll(text, fmt.Appendf(nil, "ID: %d", id))
			fmt.Fprintf(&b, "==== events/%s/%s\n%s\n", system, filepath.Base(filepath.Dir(file)), bytes.TrimRight(text, "\n"))
			id++
		}
	}
	return writeGzip(out, b.Bytes())
}
