package main

import (
	"slices"

	"ftracelab/machine"
)

// callers knows which function calls which, and from which address. Function traces
// (parent_ip) and recorded stacks show it.
type callers struct {
	ks     *machine.Kallsyms
	from   map[uint64]map[uint64]int // callee → return address → how often it was seen
	calls  map[uint64]int            // how many of its calls were seen, by caller
	goesOn map[[2]uint64]bool        // caller, callee: the caller does something after that call, so it is no jump
	points map[machine.Point]uint64  // where tracepoints are
	slabs  map[uint64]machine.Slab   // what is allocated, by call site
	sites  map[siteKey][]machine.Site
	asm    *machine.Assembler
	known  int // how many sites have a real address
	made   int // how many sites have a made-up address
}

type siteKey struct{ grand, caller, callee uint64 }

// The captures with function records, and those with kernel stacks.
var (
	functionCaptures = []string{
		"function/fn_default", "function/fn_commands", "function/fn_pid_fork_tgid", "function/subbuf_8", "function/subbuf_64",
	}
	stackCaptures = []string{"stacks/kmem_stack", "stacks/sched_stack", "events/ev_stacktrace"}
	slabCaptures  = []string{"events/ev_all", "stacks/kmem_stack", "events/ev_kmem"}
	// mixedCaptures are captures of the subsystems with kernel stacks.
	mixedCaptures = []string{"stacks_kmem", "stacks_sched", "stacks_function"}
)

// learnMixed adds the calls that the stacks of a mixed load show.
func (cs *callers) learnMixed(subsystems string, ids map[string]int) error {
	for _, dir := range mixedCaptures {
		records, err := readCapture(oracle(subsystems), dir)
		if err != nil {
			return err
		}
		for _, r := range records {
			if r.typ == ids["ftrace/kernel_stack"] {
				cs.addStack(&r, true)
			}
		}
	}
	return nil
}

// isModule recognizes addresses of modules, which differ from boot to boot.
func isModule(addr uint64) bool { return addr >= 0xffffffffc0000000 }

func learnCallers(o oracle, ks *machine.Kallsyms, ids map[string]int) (*callers, error) {
	cs := &callers{
		ks: ks, from: map[uint64]map[uint64]int{}, goesOn: map[[2]uint64]bool{}, calls: map[uint64]int{}, points: map[machine.Point]uint64{},
		slabs: map[uint64]machine.Slab{}, sites: map[siteKey][]machine.Site{},
		asm: machine.NewAssembler(ks, 0),
	}
	for _, dir := range functionCaptures {
		records, err := readCapture(o, dir)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.typ == ids["ftrace/function"] && len(r.data) >= 24 {
				cs.add(cs.entry(r.u64(8)), r.u64(16), 1)
			}
		}
	}
	for _, dir := range stackCaptures {
		records, err := readCapture(o, dir)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.typ == ids["ftrace/kernel_stack"] {
				cs.addStack(&r, false)
			}
		}
	}
	for _, dir := range slabCaptures {
		records, err := readCapture(o, dir)
		if err != nil {
			return nil, err
		}
		cs.learnSlabs(records, ids)
	}
	return cs, nil
}

func (cs *callers) entry(addr uint64) uint64 {
	s, _ := cs.ks.At(addr)
	return s.Addr
}

func (cs *callers) name(addr uint64) string {
	s, _ := cs.ks.At(addr)
	return s.Name
}

func (cs *callers) traceable(addr uint64) bool {
	s, _ := cs.ks.At(addr)
	return s.Traceable
}

func (cs *callers) add(callee, ret uint64, n int) {
	if callee == 0 || cs.entry(ret) == 0 {
		return
	}
	if cs.from[callee] == nil {
		cs.from[callee] = map[uint64]int{}
	}
	cs.from[callee][ret] += n
	cs.calls[cs.entry(ret)] += n
}

// addStack learns from a recorded kernel stack, which has the innermost address first.
// foreign says that modules lay elsewhere when it was recorded.
func (cs *callers) addStack(r *record, foreign bool) {
	n := int(r.u32(8))
	var ips []uint64
	for i := 0; i < n && 16+8*i+8 <= len(r.data); i++ {
		if ip := r.u64(16 + 8*i); ip != 0 && ip != ^uint64(0) {
			ips = append(ips, ip)
		}
	}
	for i := 0; i+1 < len(ips); i++ {
		if foreign && (isModule(ips[i]) || isModule(ips[i+1])) {
			continue
		}
		cs.add(cs.entry(ips[i]), ips[i+1], 1)
	}
	if len(ips) < 2 {
		return
	}
	for e := machine.EvNone + 1; e.Valid(); e++ {
		if cs.name(ips[0]) == "trace_event_raw_event_"+e.Template() {
			cs.points[machine.Point{Func: cs.entry(ips[1]), Event: e}] = ips[1]
		}
	}
}

// within returns the address inside caller from which callee is called most often.
func (cs *callers) within(caller, callee uint64) (ret uint64) {
	best := 0
	for _, a := range sortedKeys(cs.from[callee]) {
		if n := cs.from[callee][a]; cs.entry(a) == caller && n > best {
			ret, best = a, n
		}
	}
	return ret
}

// hidden returns the functions, invisible to ftrace, through which caller reaches
// callee. The outermost comes first, and callee last; nil if no such path is known.
func (cs *callers) hidden(caller, callee uint64, depth int) []machine.Site {
	if ret := cs.within(caller, callee); ret != 0 {
		return []machine.Site{{Func: callee, Ret: ret}}
	}
	if depth == 0 {
		return nil
	}
	for _, ret := range sortedKeys(cs.from[callee]) {
		via := cs.entry(ret)
		if via == caller || via == callee || cs.traceable(via) {
			continue
		}
		if path := cs.hidden(caller, via, depth-1); path != nil {
			path[len(path)-1].Hidden = true
			return append(path, machine.Site{Func: callee, Ret: ret})
		}
	}
	return nil
}

// maxHidden is how many functions that ftrace cannot see may lie between two that it
// sees.
const maxHidden = 3

// path returns how caller calls callee, where grand has called caller.
func (cs *callers) path(grand, caller, callee uint64) []machine.Site {
	k := siteKey{grand, caller, callee}
	if p, ok := cs.sites[k]; ok {
		return p
	}
	p := cs.hidden(caller, callee, maxHidden)
	switch {
	case p != nil:
		cs.known++
	case cs.jumps(grand, caller, callee):
		p = []machine.Site{{Func: callee, Tail: true}}
		cs.known++
	case cs.name(caller) == "x64_sys_call": // its calls are jumps out of a switch
		p = []machine.Site{{Func: callee, Tail: true}}
		cs.known++
	case grand != 0 && !cs.goesOn[[2]uint64{caller, callee}] && cs.hidden(grand, callee, maxHidden) != nil:
		p = cs.hidden(grand, callee, maxHidden)
		p[0].Ret, p[0].Tail = 0, true
		cs.known++
	case cs.faults(callee) != nil:
		asm := cs.faults(callee)
		cs.known++
		p = append([]machine.Site{asm[0]}, asm[1:]...)
		p[0].Ret = machine.CallSite(cs.ks, caller, p[0].Func)
	default:
		cs.made++
		p = []machine.Site{{Func: callee, Ret: machine.CallSite(cs.ks, caller, callee)}}
		if via, ret := cs.onlyHidden(callee, !cs.traceable(caller) || cs.calls[caller] >= enough); via != 0 {
			p = []machine.Site{{Func: via, Ret: machine.CallSite(cs.ks, caller, via), Hidden: true}, {Func: callee, Ret: ret}}
			if cs.jumps(grand, caller, via) {
				p[0].Ret, p[0].Tail = 0, true
			}
		}
	}
	for i := range p {
		p[i].Probe = cs.name(p[i].Func) == "syscall_trace_enter"
	}
	cs.sites[k] = p
	return p
}

// jumps reports whether caller reaches callee by a jump. Then callee returns to an address
// to which caller returns, too: no two calls have the same.
func (cs *callers) jumps(grand, caller, callee uint64) bool {
	if cs.goesOn[[2]uint64{caller, callee}] {
		return false
	}
	for ret := range cs.from[callee] {
		if cs.from[caller][ret] > 0 {
			return true
		}
	}
	return len(cs.from[caller]) == 0 && grand != 0 && cs.within(grand, callee) != 0
}

// onlyHidden returns the invisible function from which callee is called most often, and
// the return address. It is 0 if a visible one calls callee more often, unless anyway is
// set: the caller's calls are known, and callee is not among them.
func (cs *callers) onlyHidden(callee uint64, anyway bool) (via, ret uint64) {
	best, visible := 0, 0
	for _, a := range sortedKeys(cs.from[callee]) {
		switch n := cs.from[callee][a]; {
		case cs.traceable(cs.entry(a)):
			visible = max(visible, n)
		case n > best:
			via, ret, best = cs.entry(a), a, n
		}
	}
	if visible > best && !anyway {
		return 0, 0
	}
	return via, ret
}

// learnOrder notes after which calls a function goes on. Interrupts, which come at any
// place, do not count.
func (cs *callers) learnOrder(records []record, ev *eventTypes) {
	type call struct{ fn, last uint64 }
	stacks := map[int][]call{}
	for i := range records {
		r := &records[i]
		if r.typ != ev.entry && r.typ != ev.exit {
			continue
		}
		key := r.pid
		if key == 0 {
			key = -1 - r.cpu
		}
		depth := int(int32(r.u32(16)))
		s := stacks[key]
		s = s[:min(len(s), max(depth, 0))]
		if r.typ == ev.entry {
			fn := cs.entry(r.u64(8))
			if n := len(s) - 1; n >= 0 && n == depth-1 && !ofInterrupt(cs.name(fn)) {
				if s[n].last != 0 {
					cs.goesOn[[2]uint64{s[n].fn, s[n].last}] = true
				}
				s[n].last = fn
			}
			for len(s) < depth {
				s = append(s, call{})
			}
			s = append(s, call{fn: fn})
		}
		stacks[key] = s
	}
}

// faults returns the path from the page fault entry to callee; nil if there is none.
func (cs *callers) faults(callee uint64) []machine.Site {
	entry, ok := cs.ks.ByName("asm_exc_page_fault")
	if n := cs.name(callee); !ok || n != "lock_vma_under_rcu" && n != "lock_mm_and_find_vma" && n != "handle_mm_fault" {
		return nil
	}
	path := cs.hidden(entry.Addr, callee, maxHidden)
	if path == nil {
		return nil
	}
	return append([]machine.Site{{Func: entry.Addr, Hidden: true}}, path...)
}

func sortedKeys[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// learnSlabs notes what each allocation site asks for.
func (cs *callers) learnSlabs(records []record, ids map[string]int) {
	for i := range records {
		r := &records[i]
		switch {
		case r.typ == ids["kmem/kmem_cache_alloc"] || r.typ == ids["kmem/kmalloc"]:
			cs.slabs[r.u64(8)] = machine.Slab{
				Req: uint32(r.u64(24)), Alloc: uint32(r.u64(32)), GFP: uint32(r.u64(40)),
				Accounted: len(r.data) > 52 && r.typ == ids["kmem/kmem_cache_alloc"] && r.data[52] != 0,
			}
		case r.typ == ids["kmem/kmem_cache_free"]:
			cs.slabs[r.u64(8)] = machine.Slab{Cache: r.dynamic(24)}
		}
	}
}
