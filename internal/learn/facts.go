package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ftracelab/machine"
)

// fact is something that a trace says about a function, for example that it was called
// with interrupts off.
type fact struct {
	What string // one of the kinds below
	Func string
	Says string
}

// The kinds of facts. Those of "graph" come from function_graph, and those of "function"
// from the function tracer.
const (
	taskOf         = "task"            // the kind of task in which it begins
	contextOf      = "context"         // task, softirq, hardirq or NMI, and what is switched off
	preemptOf      = "preempt"         // the depth of preempt_disable; in an interrupt, that of the interrupt's own
	graphParent    = "graph parent"    // the function inside which it is called
	graphEnd       = "graph end"       // whether it ends in the task in which it began
	graphLeaves    = "graph leaves"    // what a task did last before another one ran: entered or left the function
	graphArrives   = "graph arrives"   // what a task did first when it ran again
	functionParent = "function parent" // parent_ip
	functionLast   = "function leaves"
	functionFirst  = "function arrives"
)

// always are the kinds that are compared however seldom the function is in captures.
var always = []string{graphLeaves, graphArrives, functionLast, functionFirst}

// facts counts facts, and how often each kind of trace shows each function.
type facts struct {
	count map[fact]int
	seen  map[fact]int   // Says is empty
	calls map[string]int // how many calls the function tracer shows, by parent_ip
	// stacked are the parents that recorded stacks show.
	stacked map[fact]bool
}

func newFacts() *facts {
	return &facts{map[fact]int{}, map[fact]int{}, map[string]int{}, map[fact]bool{}}
}

func (f *facts) add(what, fn, says string) {
	f.count[fact{what, fn, says}]++
	f.seen[fact{what, fn, ""}]++
}

// trace is a capture whose facts are collected.
type trace struct {
	records []record
	name    func(addr uint64) string
	comms   map[int]string
	ids     map[string]int
	partial bool // not all functions were traced: nothing is known of parents and of what comes first or last
}

// shadow is what a walk knows of a task.
type shadow struct {
	stack []string // the functions that it is inside, by the depth of the graph tracer
	base  int      // the preempt depth of the code that an interrupt has interrupted; -1: it is not inside one
	since int      // the depth at which the interrupt began
}

// addTrace collects the facts of a trace.
func (f *facts) addTrace(t *trace) {
	tasks := map[int]*shadow{}
	last := map[int]*record{} // by CPU
	entry, exit, fn := t.ids["ftrace/funcgraph_entry"], t.ids["ftrace/funcgraph_exit"], t.ids["ftrace/function"]
	for i := range t.records {
		r := &t.records[i]
		if r.typ != entry && r.typ != exit && r.typ != fn {
			continue
		}
		name := t.name(r.u64(8))
		if name == "" {
			continue
		}
		key := r.pid
		if key == 0 {
			key = -1 - r.cpu
		}
		s := tasks[key]
		if s == nil {
			s = &shadow{base: -1}
			tasks[key] = s
		}
		if p := last[r.cpu]; p != nil && p.pid != r.pid && !t.partial {
			f.passOver(t, p, r, name, fn)
		}
		last[r.cpu] = r
		switch r.typ {
		case entry:
			f.enter(t, s, r, name)
		case exit:
			f.leave(s, name)
		case fn:
			f.function(t, s, r, name)
		}
	}
}

// passOver notes where a CPU has changed tasks.
func (f *facts) passOver(t *trace, p, r *record, name string, fn int) {
	before := t.name(p.u64(8))
	verb := map[bool]string{true: "enters", false: "returns"}
	entry := t.ids["ftrace/funcgraph_entry"]
	if r.typ == fn {
		f.add(functionLast, before, "last before a switch")
		f.add(functionFirst, name, "first after a switch")
		return
	}
	f.add(graphLeaves, before, verb[p.typ == entry]+", last before a switch")
	f.add(graphArrives, name, verb[r.typ == entry]+", first after a switch")
}

// begins reports whether name is the first function of an interrupt.
func begins(name string) bool { return name == "irq_enter_rcu" }

// ofInterrupt recognizes the functions that an interrupt calls first. Any function can
// be their parent.
func ofInterrupt(name string) bool {
	return begins(name) || name == "irq_exit_rcu" || strings.HasPrefix(name, "__sysvec_") || name == "__common_interrupt"
}

// atItsEnd recognizes functions that an interrupt calls when it is no hardirq any more.
func atItsEnd(name string) bool {
	return name == "handle_softirqs" || name == "idle_cpu" || name == "tick_nohz_irq_exit"
}

func (f *facts) enter(t *trace, s *shadow, r *record, name string) {
	depth := int(int32(r.u32(16)))
	if depth < 0 {
		return
	}
	for len(s.stack) > depth {
		s.stack = s.stack[:len(s.stack)-1]
	}
	for len(s.stack) < depth {
		s.stack = append(s.stack, "") // it began before the trace
	}
	if s.base >= 0 && (depth < s.since || r.flags&(machine.FlagHardIRQ|machine.FlagSoftIRQ) == 0 && !ofInterrupt(name) && depth <= s.since) {
		s.base = -1
	}
	pc := int(r.preempt & 0xf)
	if begins(name) && s.base < 0 {
		s.base, s.since = max(pc-1, 0), depth
	}
	if !t.partial && !ofInterrupt(name) && depth > 0 && s.stack[depth-1] != "" {
		f.add(graphParent, name, s.stack[depth-1])
	}
	s.stack = append(s.stack, name)
	f.state(t, s, r, name, max(pc-1, 0)) // the tracer itself has disabled preemption
}

// leave notes whether the function that ends is the one that the task entered last.
func (f *facts) leave(s *shadow, name string) {
	n := len(s.stack) - 1
	switch {
	case n < 0:
	case s.stack[n] == name:
		f.add(graphEnd, name, "in its task")
	case s.stack[n] != "":
		f.add(graphEnd, name, "inside "+s.stack[n])
	}
	if n >= 0 {
		s.stack = s.stack[:n]
	}
}

func (f *facts) function(t *trace, s *shadow, r *record, name string) {
	if parent := t.name(r.u64(16)); parent != "" && !ofInterrupt(name) {
		f.add(functionParent, name, parent)
		f.calls[parent]++
	}
	switch inside := r.flags&(machine.FlagHardIRQ|machine.FlagSoftIRQ) != 0; {
	case begins(name) && s.base < 0:
		s.base = int(r.preempt & 0xf)
	case !inside && !ofInterrupt(name) && !atItsEnd(name):
		s.base = -1
	}
	f.state(t, s, r, name, int(r.preempt&0xf))
}

// state notes the task and the state of the processor.
func (f *facts) state(t *trace, s *shadow, r *record, name string, depth int) {
	if !ofInterrupt(name) && s.base < 0 {
		if kind := t.kind(r.pid); kind != "" {
			f.add(taskOf, name, kind)
		}
	}
	where := "task"
	switch {
	case r.flags&machine.FlagNMI != 0:
		where = "NMI"
	case r.flags&machine.FlagHardIRQ != 0 && r.flags&machine.FlagSoftIRQ != 0:
		where = "hardirq in softirq"
	case r.flags&machine.FlagHardIRQ != 0:
		where = "hardirq"
	case r.flags&machine.FlagSoftIRQ != 0:
		where = "softirq"
	}
	if r.flags&machine.FlagIRQsOff != 0 {
		where += ", interrupts off"
	}
	if r.flags&machine.FlagBHOff != 0 && where == "task" {
		where += ", bottom halves off"
	}
	f.add(contextOf, name, where)
	if s.base >= 0 {
		f.add(preemptOf, name, fmt.Sprintf("%+d in an interrupt", depth-s.base))
		return
	}
	f.add(preemptOf, name, fmt.Sprint(depth))
}

// kernelThreads are the beginnings of the names of kernel threads.
var kernelThreads = []string{
	"kworker/", "ksoftirqd/", "rcu_", "migration/", "kcompactd", "kswapd", "khugepaged", "jbd2/", "khungtaskd", "kthreadd",
	"cpuhp/", "irq/", "oom_reaper", "kauditd", "pool_workqueue", "loop", "timerlat/", "osnoise/", "hwlatd", "event-sample",
}

// kind tells the kind of a task; "" if its name is not known.
func (t *trace) kind(pid int) string {
	comm, ok := t.comms[pid]
	switch {
	case pid == 0:
		return "idle"
	case !ok:
		return ""
	}
	for _, k := range kernelThreads {
		if strings.HasPrefix(comm, k) {
			return "kernel thread"
		}
	}
	return "process"
}

// enough is how often real captures have to show a function, so that what they do not say
// about it does not happen.
const enough = 10

// difference is a fact of our machine that no real capture has.
type difference struct {
	fact
	Times int // how often it was seen
	Of    int // how often the machine's traces show the function
	Real  int // how often the real ones do
}

// compare gives the differences, the most frequent first. unknown counts those of
// functions that the real captures show too seldom, by function.
func (f *facts) compare(real *facts) (diffs []difference, unknown map[string]int) {
	unknown = map[string]int{}
	for k, n := range f.count {
		if real.count[k] > 0 || real.stacked[k] {
			continue
		}
		shown := fact{k.What, k.Func, ""}
		known := real.seen[shown]
		if k.What == functionParent {
			known = min(known, real.calls[k.Says]) // what the parent calls must be known as well
		}
		if known < enough && !slices.Contains(always, k.What) {
			unknown[k.Func] += n
			continue
		}
		diffs = append(diffs, difference{k, n, f.seen[shown], known})
	}
	slices.SortFunc(diffs, func(a, b difference) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.What, b.What), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Says, b.Says))
	})
	return diffs, unknown
}
