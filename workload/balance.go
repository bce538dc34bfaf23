package workload

import (
	"slices"

	"ftracelab/machine"
)

// pulls is the code in which a CPU pulls a task from another one. It is made when it first
// happens.
type pulls struct {
	newidle machine.Code // inside sched_balance_newidle
	domains machine.Code // inside sched_balance_domains
}

// pulling gives the code of pulls.
func (w *mix) pulling() *pulls {
	if w.pulls != nil {
		return w.pulls
	}
	w.pulls = new(pulls)
	var err error
	inside := func(outer string, flags uint8, body func(*machine.Assembler)) machine.Code {
		code, e := w.m.Assemble(120, func(a *machine.Assembler) {
			a.State(flags, 1, 0).Call(outer)
			body(a)
			a.Return(1)
		})
		if e != nil {
			err = e
			return nil
		}
		return code[1 : len(code)-1]
	}
	w.pulls.newidle = inside("sched_balance_newidle", machine.FlagIRQsOff, func(a *machine.Assembler) {
		a.Call("__rcu_read_lock").Return(1).Call("__rcu_read_unlock").Return(1)
		unlockQueue(a)
		a.Call("sched_balance_update_blocked_averages")
		lockQueue(a)
		a.Call("update_other_load_avgs").Call("update_rt_rq_load_avg").Return(1).Call("update_dl_rq_load_avg").Return(2)
		a.Call("__update_load_avg_cfs_rq").Return(1)
		unlockQueue(a)
		a.Return(1).Call("__rcu_read_lock").Return(1).Call("__msecs_to_jiffies").Return(1)
		pullTask(a)
		a.Call("__rcu_read_unlock").Return(1)
		lockQueue(a)
	})
	w.pulls.domains = inside("sched_balance_domains", machine.FlagIRQsOff|machine.FlagSoftIRQ, pullTask)
	if err != nil {
		panic("workload: invariant: " + err.Error()) // all functions are in the symbol table
	}
	return w.pulls
}

func lockQueue(a *machine.Assembler) {
	a.Call("raw_spin_rq_lock_nested").Call("_raw_spin_lock").Return(2).Call("update_rq_clock").Return(1)
}

func unlockQueue(a *machine.Assembler) {
	a.Call("raw_spin_rq_unlock").Call("_raw_spin_unlock").Return(2)
}

// pullTask is sched_balance_rq when it finds a task that may move, as subsystems/ext4_graph and
// csw_threads show it.
func pullTask(a *machine.Assembler) {
	pressure := func() {
		a.Call("psi_task_change").Call("psi_flags_change").Return(1).Call("psi_group_change").Call("record_times").Return(3)
	}
	a.Call("sched_balance_rq").Call("sched_balance_find_src_group")
	a.Call("cpu_util").Call("arch_scale_cpu_capacity").Return(2).Call("idle_cpu").Return(1)
	a.Call("cpu_util").Call("arch_scale_cpu_capacity").Return(2).Call("sched_use_asym_prio").Return(2)
	a.Call("sched_use_asym_prio").Return(1)
	lockQueue(a)
	a.Call("can_migrate_task").Call("kthread_is_per_cpu").Return(2)
	a.Call("detach_task").Call("deactivate_task")
	pressure()
	a.Call("dequeue_task_fair").Call("dequeue_entities").Call("dequeue_entity").Call("update_curr").Return(1)
	a.Call("__update_load_avg_se").Return(1).Call("__update_load_avg_cfs_rq").Return(1).Call("detach_entity_load_avg").Return(1)
	a.Call("update_entity_lag").Call("avg_vruntime").Return(2).Call("__dequeue_entity").Return(1).Call("update_cfs_group").Return(3)
	a.Call("hrtick_update").Return(3)
	a.Call("set_task_cpu").Trace(machine.EvSchedMigrate, 0).Call("migrate_task_rq_fair").Return(1).Call("set_task_rq_fair").Return(3)
	unlockQueue(a)
	lockQueue(a)
	a.Call("activate_task").Call("enqueue_task").Call("enqueue_task_fair").Call("enqueue_entity").Call("update_curr").Return(1)
	a.Call("__update_load_avg_cfs_rq").Return(1).Call("attach_entity_load_avg").Return(1).Call("update_cfs_group").Return(1)
	a.Call("place_entity").Call("avg_vruntime").Return(2).Call("__enqueue_entity").Return(2).Call("hrtick_update").Return(2)
	pressure()
	a.Return(2).Call("wakeup_preempt").Return(1)
	unlockQueue(a)
	a.Return(1)
}

// switchPulled is the code of a switch to a task that was pulled because nothing else waited:
// the code of a switch to the idle task up to where the kernel looks for one, and from where
// it chooses a task again that of a switch to such a task. It is nil if no capture shows both.
func (w *mix) switchPulled(from taskKind, e end, to taskKind) machine.Code {
	idle, run := pick(w.rng, w.switches.to[from][e][idleTask]), pick(w.rng, w.switches.to[from][e][to])
	call, back := w.within(idle, "sched_balance_newidle")
	again, _ := w.within(run, "pick_task_fair")
	if call < 0 || again < 0 {
		return nil
	}
	return slices.Concat(idle[:call+1], w.pulling().newidle, idle[back:back+1], run[again:])
}

// tickPulls is the code of a tick in which the CPU pulls a task; nil if no capture shows how
// the kernel compares loads in such a tick.
func (w *mix) tickPulls(key string) machine.Code {
	code := pick(w.rng, w.balancing(key))
	_, back := w.within(code, "sched_balance_domains")
	if back < 0 {
		return nil
	}
	unlock := back - 2 // rcu_read_unlock is the last function that it calls
	return slices.Concat(code[:unlock], w.pulling().domains, code[unlock:])
}

// balancing gives the codes for a reason in which the CPU compares its load with that of
// others. They are looked for when they are first asked for.
func (w *mix) balancing(key string) []choice {
	const balances = " balances"
	if list, ok := w.codes[key+balances]; ok {
		return list
	}
	const schedSoftIRQ = 7
	var list []choice
	for _, c := range w.codes[key] {
		if slices.ContainsFunc(c.code(), func(op machine.Op) bool {
			return op.Kind == machine.OpTrace && op.Event == machine.EvSoftIRQEntry && op.Arg == schedSoftIRQ
		}) {
			list = append(list, c)
		}
	}
	w.codes[key+balances] = list
	return list
}

// within finds the first call of a function in code, and the step that returns from it; -1 if
// there is none.
func (w *mix) within(code machine.Code, name string) (call, back int) {
	fn, ok := w.m.Kallsyms().ByName(name)
	if !ok {
		return -1, -1
	}
	call = slices.IndexFunc(code, func(op machine.Op) bool {
		return op.Kind == machine.OpCall && int(op.Arg) < len(w.model.Sites) && w.model.Sites[op.Arg].Func == fn.Addr
	})
	depth := 0
	for i := max(call, 0); call >= 0 && i < len(code); i++ {
		switch code[i].Kind {
		case machine.OpCall:
			depth++
		case machine.OpReturn:
			if depth--; depth == 0 {
				return call, i
			}
		}
	}
	return -1, -1
}
