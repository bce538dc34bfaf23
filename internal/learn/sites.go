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
	calls  map[uint64]int            // how many calls by a function captures show
	points map[machine.Point]uint64  // where tracepoints are
	slabs  map[uint64]machine.Slab   // what is allocated, by call site
	sites  map[siteKey][]machine.Site
	asm    *machine.Assembler
	users  map[uint64][]uint64 // return address → the functions that are known to return to it
	text   *text
	known  int // how many sites have a real address
	made   int // how many sites have a made-up address
}

type siteKey struct {
	grand, caller, callee uint64
	last                  bool
	open                  [maxCoded]uint64
}

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

func learnCallers(o oracle, kernel string, ks *machine.Kallsyms, ids map[string]int) (*callers, error) {
	code, err := readText(ks, kernel)
	if err != nil {
		return nil, err
	}
	cs := &callers{
		text: code,
		ks:   ks, from: map[uint64]map[uint64]int{}, calls: map[uint64]int{}, points: map[machine.Point]uint64{},
		slabs: map[uint64]machine.Slab{}, sites: map[siteKey][]machine.Site{},
		asm: machine.NewAssembler(ks, 0), users: map[uint64][]uint64{},
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
	if cs.from[callee][ret] == 0 {
		cs.users[ret] = append(cs.users[ret], callee)
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

// place returns the address to which callee returns when caller has called it.
func (cs *callers) place(caller, callee uint64) uint64 {
	if s := cs.link(caller, callee, false); s.Ret != 0 {
		return s.Ret
	}
	return machine.CallSite(cs.ks, caller, callee)
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

// path returns how caller calls callee, where grand has called caller. last says that caller
// does nothing after that, and open are the hidden functions that caller has entered.
func (cs *callers) path(grand, caller, callee uint64, last bool, open []frame) []machine.Site {
	k := siteKey{grand: grand, caller: caller, callee: callee, last: last}
	n := 0
	for n < min(len(open), maxCoded) {
		k.open[n] = open[n].Func
		n++
	}
	if p, ok := cs.sites[k]; ok {
		return p
	}
	p := cs.find(grand, caller, callee, last, k.open[:n])
	if p == nil {
		cs.made++
		p = []machine.Site{{Func: callee, Ret: machine.CallSite(cs.ks, caller, callee)}}
	} else {
		cs.known++
	}
	for i := range p {
		p[i].Probe = cs.name(p[i].Func) == "syscall_trace_enter"
	}
	cs.sites[k] = p
	return p
}

// find returns the path, or nil if neither the code nor a capture has it.
func (cs *callers) find(grand, caller, callee uint64, last bool, open []uint64) []machine.Site {
	if p := cs.route(caller, callee, last, false, open...); p != nil {
		return p
	}
	if ofInterrupt(cs.name(callee)) {
		if p := cs.through("asm_sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt", caller, callee); p != nil {
			return p
		}
	}
	if p := cs.hidden(caller, callee, maxHidden); p != nil {
		return p
	}
	if p := cs.through("asm_exc_page_fault", "do_user_addr_fault", caller, callee); p != nil {
		return p
	}
	if cs.name(grand) == "kthread" { // which was in that function when the capture began
		if p := cs.route(caller, callee, last, true); p != nil {
			return p
		}
	}
	return cs.pointer(caller, callee, last)
}

// through returns the path to callee through the entry of an interrupt or an exception,
// which came while caller ran; nil if the function inner, which handles it, has no such
// path.
func (cs *callers) through(entry, inner string, caller, callee uint64) []machine.Site {
	from, ok := cs.ks.ByName(entry)
	handler, found := cs.ks.ByName(inner)
	if !ok || !found || from.Addr == caller || cs.link(handler.Addr, callee, false).Func == 0 {
		return nil
	}
	path := cs.route(from.Addr, callee, false, false)
	if path == nil {
		return nil
	}
	came := machine.Site{Func: from.Addr, Ret: machine.CallSite(cs.ks, caller, from.Addr), Hidden: true}
	return append([]machine.Site{came}, path...)
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
