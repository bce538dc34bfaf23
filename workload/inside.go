package workload

import "ftracelab/machine"

// insideEvents are events that happen in functions which the captures show, and that the
// captures did not record: just after the function was entered, and just before it
// returns. first and last are what the two records hold besides the CPU.
//
// Kernel: trace_cpu_idle in default_idle_call, kernel/sched/idle.c; trace_rcu_utilization
// in kernel/rcu/tree.c, whose argument is the address of a string in printk_formats.
var insideEvents = []struct {
	fn, name    string
	first, last uint64
	cpu         bool // the number of the CPU follows
}{
	{"default_idle_call", "power:cpu_idle", 1, 1<<32 - 1, true},
	{"rcu_note_context_switch", "rcu:rcu_utilization", 0xffffffff824de658, 0xffffffff824de645, false},
	{"rcu_sched_clock_irq", "rcu:rcu_utilization", 0xffffffff824de952, 0xffffffff824de93f, false},
	{"rcu_core", "rcu:rcu_utilization", 0xffffffff824de930, 0xffffffff824de923, false},
}

// inside gives these events: for each row the one after the entry and the one before the
// return.
func inside() (list []machine.Happening) {
	for _, e := range insideEvents {
		for _, v := range [2]uint64{e.first, e.last} {
			h := machine.Happening{Name: e.name, Values: []machine.Quantity{{Word: v}}}
			if e.cpu {
				h.Values = append(h.Values, machine.Quantity{Kind: machine.QuantityCPU})
			}
			list = append(list, h)
		}
	}
	return list
}

// places has the index of the first event of each function of insideEvents.
type places map[uint64]int32

func placesOf(ks *machine.Kallsyms) places {
	p := places{}
	for i, e := range insideEvents {
		if s, ok := ks.ByName(e.fn); ok {
			p[s.Addr] = int32(2 * i)
		}
	}
	return p
}

// insert puts the events into code. They take no time, so all else happens when it
// happened before.
func (p places) insert(code machine.Code, sites []machine.Site) machine.Code {
	const none = -1
	var stack []int32
	made := make(machine.Code, 0, len(code)+len(code)/8)
	say := func(like machine.Op, n int32) {
		made = append(made, machine.Op{Kind: machine.OpLearned, Arg: n, Flags: like.Flags, Preempt: like.Preempt})
	}
	for i, op := range code {
		switch op.Kind {
		case machine.OpCall:
			n, ok := p[sites[op.Arg].Func]
			if !ok {
				n = none
			}
			stack = append(stack, n)
			made = append(made, op)
			if ok {
				say(op, n)
			}
			continue
		case machine.OpReturn:
			if len(stack) > 0 {
				if n := stack[len(stack)-1]; n != none {
					say(code[i-1], n+1)
				}
				stack = stack[:len(stack)-1]
			}
		}
		made = append(made, op)
	}
	return made
}
