package workload

import (
	"slices"
	"sync"

	"ftracelab/machine"
)

// switches is the code in which tasks are switched. Which of it runs depends on the kinds
// of the two tasks and on how the first one leaves.
type switches struct {
	to   [numKinds][numEnds][numKinds][]choice
	same [numKinds][]choice
	done [3][numKinds][numEnds][numKinds][]choice // by arrival
}

// The ways in which a task arrives.
const (
	again       = iota // it has left its CPU in a switch
	born               // it has never run before
	unwitnessed        // it has left its CPU before the machine was booted, and its stack is empty
)

// taskKind says what a task is to the code that switches tasks.
type taskKind uint8

const (
	idleTask taskKind = iota
	kernelTask
	stopTask // migration/N
	userTask
	numKinds
)

// end is a way in which a task leaves its CPU.
type end uint8

const (
	goesOn end = iota // it could run
	sleepsNow
	dies
	numEnds
)

// The names of the kinds and the ends in the keys of templates.
var (
	kindNames = [numKinds]string{"idle", "kthread", "stop", "user"}
	endNames  = [numEnds]string{"runs", "sleeps", "dies"}
)

// SwitchKey is the key of templates with the code up to a context switch: from and to
// are idle, kthread, stop or user. If the task goes on, to is "same".
func SwitchKey(from, to string, state int64) string {
	return "switch " + from + " " + endNames[endOf(state)] + " " + to
}

// FinishKey is the key of templates with the code after a context switch. born says
// that the task has never run before.
func FinishKey(from, to string, state int64, born bool) string {
	key := "finish "
	if born {
		key = "tail "
	}
	return key + from + " " + endNames[endOf(state)] + " " + to
}

func endOf(state int64) end {
	switch state {
	case machine.StateRunning, machine.StatePreempted:
		return goesOn
	case machine.StateDead, machine.StateZombie:
		return dies
	}
	return sleepsNow
}

func kindOf(c *machine.CPU, t *machine.Task) taskKind {
	switch {
	case t == c.Idle():
		return idleTask
	case t.Stopper():
		return stopTask
	case t.Kernel:
		return kernelTask
	}
	return userTask
}

// Switch implements machine.Workload.
func (w *mix) Switch(c *machine.CPU, s machine.Switching) machine.Code {
	from := kindOf(c, s.Prev)
	if s.Next == s.Prev {
		return pick(w.rng, w.switches.same[from])
	}
	if s.Pulled {
		if code := w.switchPulled(from, endOf(s.State), kindOf(c, s.Next)); code != nil {
			return code
		}
	}
	return pick(w.rng, w.switches.to[from][endOf(s.State)][kindOf(c, s.Next)])
}

// Finish implements machine.Workload.
func (w *mix) Finish(c *machine.CPU, s machine.Switching, new bool) machine.Code {
	how := again
	switch {
	case new:
		how = born
	case len(c.Frames()) == 0:
		how = unwitnessed
	}
	return pick(w.rng, w.switches.done[how][kindOf(c, s.Prev)][endOf(s.State)][kindOf(c, s.Next)])
}

// likeKind and likeEnd say which code stands for code that the captures do not have.
// Kernel threads have no address space, so they do not stand for user tasks.
var (
	likeKind = [numKinds][]taskKind{
		idleTask: {idleTask, kernelTask, stopTask}, kernelTask: {kernelTask, stopTask, idleTask},
		stopTask: {stopTask, kernelTask, idleTask}, userTask: {userTask},
	}
	likeEnd = [numEnds][]end{goesOn: {goesOn, sleepsNow}, sleepsNow: {sleepsNow, goesOn}, dies: {dies, sleepsNow}}
)

// sleepingStacks makes code that fills the stack of a kernel thread and of a process that
// have slept since before the machine was booted. No tracer has seen them call these
// functions. The call sites are added to those of the kernel.
func sleepingStacks(ks *machine.Kallsyms, sites []machine.Site) (stacks [2]machine.Code, all []machine.Site) {
	for i, names := range [2][]string{
		{"ret_from_fork_asm", "ret_from_fork", "kthread", "schedule", "__schedule"},
		{"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "schedule", "__schedule"},
	} {
		caller := uint64(0)
		for _, name := range names {
			s, ok := ks.ByName(name)
			if !ok {
				continue
			}
			site := machine.Site{Func: s.Addr, Hidden: true}
			if caller != 0 {
				site.Ret = machine.CallSite(ks, caller, s.Addr)
			}
			caller = s.Addr
			stacks[i] = append(stacks[i], machine.Op{Kind: machine.OpCall, Arg: int32(len(sites)), Flags: machine.FlagIRQsOff, Preempt: 1})
			sites = append(sites, site)
		}
	}
	return stacks, sites
}

// fillSwitches finds the code for each pair of tasks among the templates. asleep are the
// stacks of sleepingStacks.
func (w *mix) fillSwitches(asleep [2]machine.Code) {
	for from := range numKinds {
		for e := range numEnds {
			w.switches.same[from] = slices.Concat(w.switches.same[from], w.codes["switch "+kindNames[from]+" "+endNames[e]+" same"])
			for to := range numKinds {
				w.switches.to[from][e][to] = w.nearest("switch ", from, e, to)
				w.switches.done[again][from][e][to] = w.nearest("finish ", from, e, to)
				w.switches.done[born][from][e][to] = w.nearest("tail ", from, e, to)
				in := asleep[0]
				if to == userTask {
					in = asleep[1]
				}
				for _, c := range w.switches.done[again][from][e][to] {
					code := c.code
					c.code = sync.OnceValue(func() machine.Code {
						return slices.Concat(in, code(), slices.Repeat(machine.Code{{Kind: machine.OpReturn}}, len(in)))
					})
					w.switches.done[unwitnessed][from][e][to] = append(w.switches.done[unwitnessed][from][e][to], c)
				}
			}
		}
	}
}

// nearest gives the code for a pair of tasks, or for one that is like it.
func (w *mix) nearest(what string, from taskKind, e end, to taskKind) []choice {
	for _, like := range likeEnd[e] {
		for _, a := range likeKind[from] {
			for _, b := range likeKind[to] {
				if list := w.codes[what+kindNames[a]+" "+endNames[like]+" "+kindNames[b]]; list != nil {
					return list
				}
			}
		}
	}
	return nil
}
