package main

import (
	"strings"

	"ftracelab/machine"
	evt "ftracelab/tracer/event"
	"ftracelab/workload"
)

// slowness is how many times longer a step took in the capture, on an emulated CPU with
// the graph tracer on, than it takes on the simulated machine.
//
// Departure: structure and proportions come from captures. Times are only scaled.
const slowness = 8

// maxStep is the longest time of a step, in ns. A step that took longer was waiting.
const maxStep = 4000

// emitter makes code of items.
type emitter struct {
	cs    *callers
	slabs *slabTable
	stack []frame // what is on the kernel stack
	real  []int   // the indexes of those that are items, and of the last function of the base
	ops   workload.Columns
	state item

	// For activities only: where their events go, the roles by pid, the types of the
	// events, the names of those that happened, and what counts up.
	said   *workload.Activities
	roles  map[int]int
	types  map[int]*evt.Type
	names  map[string]bool
	rounds rounds
	actors int // how many roles all activities have
}

// frame is a function on the kernel stack; ret is the address to which it returns.
type frame struct {
	machine.Site
	ret uint64
}

// ofDevice reports whether a segment is the interrupt of a device, and not that of a
// system vector.
func ofDevice(key string) bool { return strings.HasPrefix(key, "irq __common") }

// base gives the functions below a kind of segment. They were entered before it began,
// or cannot be seen.
func base(key string) []string {
	if fn := under(key); fn != "" {
		return []string{fn}
	}
	word := strings.Fields(key)
	switch word[0] {
	case "sys":
		return []string{"entry_SYSCALL_64_after_hwframe", "do_syscall_64"}
	case "fault":
		return []string{"asm_exc_page_fault", "exc_page_fault"}
	case "born":
		return []string{"ret_from_fork_asm"}
	case "idle0":
		return []string{
			"common_startup_64", "x86_64_start_kernel", "x86_64_start_reservations", "start_kernel", "rest_init", "cpu_startup_entry",
		}
	case "idle":
		return []string{"common_startup_64", "start_secondary", "cpu_startup_entry"}
	case "exit":
		return []string{"asm_sysvec_apic_timer_interrupt"}
	case "irq":
		return []string{"asm_sysvec_" + word[1], "sysvec_" + word[1]}
	}
	thread := map[string]string{
		"rcu_preempt": "rcu_gp_kthread", "kworker": "worker_thread", "kworker_u": "worker_thread",
		"jbd2": "kjournald2", "ksoftirqd": "smpboot_thread_fn", "migration": "smpboot_thread_fn", "kcompactd": "kcompactd",
		"kswapd": "kswapd",
	}[word[1]]
	return []string{"ret_from_fork_asm", "ret_from_fork", "kthread", thread}
}

// below is base in an activity, where devices have interrupts.
func below(key string) []string {
	if ofDevice(key) {
		return []string{"asm_common_interrupt", "common_interrupt"}
	}
	return base(key)
}

// under gives the function inside which the code of a context switch runs; "" for other
// segments.
func under(key string) string {
	switch word, _, _ := strings.Cut(key, " "); word {
	case "switch", "finish":
		return "__schedule"
	case "tail":
		return "schedule_tail"
	}
	return ""
}

// emit turns a segment into a template.
func (em *emitter) emit(g *segment) workload.Template {
	em.stack, em.real, em.ops = nil, nil, workload.Columns{}
	if len(g.items) > 0 {
		em.state = g.items[0]
	}
	if em.said != nil {
		em.base(below(g.key))
	} else {
		em.base(base(g.key))
	}
	low := 0
	if under(g.key) != "" {
		low, em.ops = len(em.stack), workload.Columns{} // the code that switches has called it
	}
	if g.key == "fault" {
		em.trace(machine.EvPageFaultUser, 0)
	}
	for i := range g.items {
		em.item(g, i)
	}
	em.pop(low)
	return workload.Template{Key: g.key, Ops: em.ops}
}

func (em *emitter) base(names []string) {
	for _, name := range names {
		s, ok := em.cs.ks.ByName(name)
		if !ok {
			continue
		}
		at := machine.Site{Func: s.Addr, Hidden: true}
		if n := len(em.stack); n > 0 {
			at.Ret = em.cs.place(em.stack[n-1].Func, s.Addr)
		}
		em.push(frame{at, at.Ret})
	}
	em.real = append(em.real, len(em.stack)-1)
}

func (em *emitter) op(kind machine.OpKind, arg int32, delta uint64) {
	em.ops.Append(machine.Op{
		Kind: kind, Arg: arg, Delta: scaled(delta),
		Flags:   em.state.flags & (machine.FlagIRQsOff | machine.FlagHardIRQ | machine.FlagSoftIRQ | machine.FlagBHOff),
		Preempt: em.state.preempt,
	})
}

func (em *emitter) trace(e machine.Event, arg int32) {
	em.op(machine.OpTrace, arg, 0)
	em.ops.Event[len(em.ops.Event)-1] = byte(e)
}

func (em *emitter) push(s frame) {
	em.op(machine.OpCall, em.cs.asm.Site(s.Site), 0)
	em.stack = append(em.stack, s)
}

// pop returns from the functions above depth.
func (em *emitter) pop(depth int) {
	for len(em.stack) > depth {
		em.op(machine.OpReturn, 0, 0)
		em.stack = em.stack[:len(em.stack)-1]
	}
}

func (em *emitter) item(g *segment, i int) {
	it := &g.items[i]
	em.state = *it
	switch it.kind {
	case enter:
		em.enter(it, isLast(g.items[i:]))
	case exit:
		em.exit(it)
	case event:
		if em.said != nil {
			it.arg = em.wakes(it)
		}
		em.trace(it.event, it.arg)
		em.ops.Delta[len(em.ops.Delta)-1] = scaled(it.delta)
		if it.event == machine.EvSchedWaking && !wokenLater(g.items[i+1:]) {
			em.trace(machine.EvSchedWakeup, it.arg)
		}
	case saying:
		em.say(it)
	case swtch:
		em.pop(em.real[len(em.real)-1] + 1)
		em.op(machine.OpSwitchTo, 0, 0)
	case scheduling:
		em.schedule(it)
	case finishing:
		em.op(machine.OpFinish, 0, 0)
	case halt:
		em.halt()
	}
}

// halt waits for an interrupt, inside the functions in which a kernel does that.
func (em *emitter) halt() {
	depth := em.real[len(em.real)-1] + 1
	em.pop(depth)
	for _, name := range []string{"default_idle_call", "default_idle", "pv_native_safe_halt"} {
		if s, ok := em.cs.ks.ByName(name); ok {
			ret := em.cs.place(em.stack[len(em.stack)-1].Func, s.Addr)
			em.push(frame{machine.Site{Func: s.Addr, Ret: ret, Hidden: true}, ret})
		}
	}
	em.op(machine.OpHalt, 0, 0)
}

// schedule calls __schedule, which ftrace cannot see.
func (em *emitter) schedule(it *item) {
	top := em.real[len(em.real)-1]
	em.pop(top + 1)
	caller := em.stack[top]
	if fn, ok := em.cs.ks.ByName("__schedule"); ok {
		for _, s := range em.cs.path(em.cs.entry(caller.ret), caller.Func, fn.Addr, false, nil) {
			s.Hidden = true
			em.push(frame{s, s.Ret})
		}
	}
	em.op(machine.OpSwitch, it.arg, it.delta)
	em.pop(top + 1)
}

// wokenLater reports whether a wake-up that has begun ends in the same code.
func wokenLater(items []item) bool {
	for _, it := range items {
		if it.kind == event && it.event == machine.EvSchedWakeup {
			return true
		}
		if it.kind == swtch || it.kind == event && it.event == machine.EvSchedWaking {
			return false
		}
	}
	return false
}

// enter pushes a function and the hidden ones that lead to it. Hidden functions
// of the path before it stay on the stack as far as the two paths agree.
func (em *emitter) enter(it *item, last bool) {
	top := em.real[len(em.real)-1]
	caller := em.stack[top]
	path := em.cs.path(em.cs.entry(caller.ret), caller.Func, it.fn, last, em.stack[top+1:])
	keep := 0
	for keep < len(path)-1 && top+1+keep < len(em.stack) && em.stack[top+1+keep].Site == path[keep] {
		keep++
	}
	em.pop(top + 1 + keep)
	for i, s := range path[keep:] {
		f := frame{Site: s, ret: s.Ret}
		if s.Tail {
			f.ret = em.stack[len(em.stack)-1].ret
		}
		if keep+i == len(path)-1 {
			em.real = append(em.real, len(em.stack))
		}
		em.push(f)
	}
	em.ops.Delta[len(em.ops.Delta)-1] = scaled(it.delta)
	if em.cs.name(it.fn) == "lock_vma_under_rcu" && len(em.real) > 2 {
		em.trace(machine.EvPageFaultKernel, 0)
	}
	for _, e := range impliedEvents[em.cs.name(it.fn)] {
		if !e.last {
			em.implied(e.event, it.fn)
		}
	}
}

// isLast reports whether nothing happens in the function around the first item, which enters
// another one, after that.
func isLast(items []item) bool {
	depth := 0
	for i := range items {
		switch items[i].kind {
		case enter:
			if depth++; i > 0 && depth == 1 {
				return false
			}
		case exit:
			if depth--; depth < 0 {
				return true
			}
		default:
			if depth == 0 {
				return false
			}
		}
	}
	return false
}

// exit leaves the function that it returns from.
func (em *emitter) exit(it *item) {
	n := len(em.real) - 1
	if n <= 0 || em.stack[em.real[n]].Func != it.fn {
		return
	}
	em.pop(em.real[n] + 1)
	for _, e := range impliedEvents[em.cs.name(it.fn)] {
		if e.last {
			em.implied(e.event, it.fn)
		}
	}
	left := em.stack[em.real[n]]
	em.pop(em.real[n])
	em.ops.Delta[len(em.ops.Delta)-1] = scaled(it.delta)
	em.real = em.real[:n]
	// What has jumped there has ended as well.
	for low := em.real[n-1] + 1; left.Tail && len(em.stack) > low; {
		left = em.stack[len(em.stack)-1]
		em.pop(len(em.stack) - 1)
	}
}

// implied adds an event of fn that the captures did not record.
func (em *emitter) implied(e machine.Event, fn uint64) {
	arg := int32(0)
	switch e {
	case machine.EvKmalloc, machine.EvKmemCacheAlloc, machine.EvKfree, machine.EvKmemCacheFree:
		arg = em.slabs.index(em.stack[len(em.stack)-1].ret, em.cs)
	case machine.EvSignalGenerate, machine.EvSignalDeliver:
		arg = 17
	}
	em.trace(e, arg)
}

func scaled(delta uint64) uint32 { return uint32(min(delta/slowness, maxStep)) }

// impliedEvents are tracepoints inside functions that the captures show. The captures
// did not record these events. Those marked as last are reported just before the
// return.
//
// Departure: a tracepoint that lies on only one path through the function is reported
// each time.
var impliedEvents = map[string][]struct {
	event machine.Event
	last  bool
}{
	"kmem_cache_alloc_noprof":            {{machine.EvKmemCacheAlloc, true}},
	"kmem_cache_alloc_lru_noprof":        {{machine.EvKmemCacheAlloc, true}},
	"kmem_cache_alloc_node_noprof":       {{machine.EvKmemCacheAlloc, true}},
	"__kmalloc_noprof":                   {{machine.EvKmalloc, true}},
	"__kmalloc_cache_noprof":             {{machine.EvKmalloc, true}},
	"__kmalloc_node_noprof":              {{machine.EvKmalloc, true}},
	"__kmalloc_cache_node_noprof":        {{machine.EvKmalloc, true}},
	"__kmalloc_node_track_caller_noprof": {{machine.EvKmalloc, true}},
	"kfree":                              {{machine.EvKfree, false}},
	"kmem_cache_free":                    {{machine.EvKmemCacheFree, false}},
	"__alloc_pages_noprof":               {{machine.EvPageAlloc, true}},
	"free_unref_page_commit":             {{machine.EvPageFree, false}},
	"enqueue_hrtimer":                    {{machine.EvHRTimerStart, false}},
	"__remove_hrtimer":                   {{machine.EvHRTimerCancel, false}},
	"tick_nohz_handler":                  {{machine.EvHRTimerExpireEntry, false}, {machine.EvHRTimerExpireExit, true}},
	"hrtimer_wakeup":                     {{machine.EvHRTimerExpireEntry, false}, {machine.EvHRTimerExpireExit, true}},
	"hrtimer_init":                       {{machine.EvHRTimerInit, false}},
	"init_timer_key":                     {{machine.EvTimerInit, false}},
	"enqueue_timer":                      {{machine.EvTimerStart, true}},
	"detach_if_pending":                  {{machine.EvTimerCancel, true}},
	"call_timer_fn":                      {{machine.EvTimerExpireEntry, false}, {machine.EvTimerExpireExit, true}},
	"wake_up_new_task":                   {{machine.EvSchedWakeupNew, true}},
	"update_curr_se":                     {{machine.EvSchedStatRuntime, true}},
	"delayed_put_task_struct":            {{machine.EvSchedFree, false}},
	"do_wait":                            {{machine.EvSchedWait, false}},
	"tick_nohz_stop_tick":                {{machine.EvTickStop, true}},
	"__queue_work":                       {{machine.EvQueueWork, true}, {machine.EvActivateWork, true}},
	"process_one_work":                   {{machine.EvWorkStart, false}, {machine.EvWorkEnd, true}},
	"__send_signal_locked":               {{machine.EvSignalGenerate, true}},
	"get_signal":                         {{machine.EvSignalDeliver, true}},
	"__sysvec_apic_timer_interrupt": {
		{machine.EvLocalTimerEntry, false}, {machine.EvLocalTimerExit, true},
	},
	"__sysvec_call_function_single": {
		{machine.EvCallFunctionSingleEntry, false}, {machine.EvCallFunctionSingleExit, true},
	},
}

// slabTable gives numbers to what allocation sites ask for. Entry 0 is for sites that
// no capture shows.
type slabTable struct {
	list []machine.Slab
	at   map[uint64]int32
}

func newSlabTable() *slabTable {
	return &slabTable{list: []machine.Slab{{Req: 64, Alloc: 64, GFP: 0xcc0, Cache: "kmalloc-64"}}, at: map[uint64]int32{}}
}

func (st *slabTable) index(site uint64, cs *callers) int32 {
	if i, ok := st.at[site]; ok {
		return i
	}
	s, ok := cs.slabs[site]
	if !ok {
		return 0
	}
	i := int32(len(st.list))
	s.Kind = uint16(i)
	st.list, st.at[site] = append(st.list, s), i
	return i
}
