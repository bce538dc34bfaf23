package workload

import (
	"fmt"

	"ftracelab/machine"
)

// kthread is a kernel thread: what it runs, and how it sleeps in between.
type kthread struct {
	key    string
	class  int32
	period machine.Time // the mean time after which it wakes by itself
	round  machine.Time // when its last round has ended
}

// kthreads adds the kernel threads that the model knows. For CPUs that existed in the
// captures, the pids are those of the captures. If few is set, a load brings most of them.
func (w *mix) kthreads(few bool) {
	one := func(pid, cpu int, comm string, k kthread) {
		k.key = "kthread " + k.key
		if w.codes[k.key] == nil || few && k.class != wakeSoftIRQ && k.class != wakeMigration {
			return
		}
		t := w.m.Spawn(machine.TaskConfig{
			Comm: comm, PID: pid, CPU: cpu, Kernel: true, Bound: cpu >= 0 && k.class != wakeRCU, Data: &k, Asleep: true,
			Policy: policyOf(k.class), Stop: k.class == wakeMigration,
			Wait: machine.Wait{Class: k.class, Timeout: w.around(w.periodOf(&k)), By: machine.Sleep},
		})
		w.sleepers[k.class] = append(w.sleepers[k.class], t)
	}
	const ms = machine.Millisecond
	one(18, 0, "rcu_preempt", kthread{key: "rcu_preempt", class: wakeRCU, period: 8 * ms})
	one(39, 0, "kcompactd0", kthread{key: "kcompactd", class: wakeCompact, period: 500 * ms})
	one(148, 0, "kworker/u8:4", kthread{key: "kworker_u", class: wakeUnboundWorker, period: 100 * ms})
	for i := range w.m.CPUs() {
		one(17+10*i, i, fmt.Sprintf("ksoftirqd/%d", i), kthread{key: "ksoftirqd", class: wakeSoftIRQ, period: 400 * ms})
		one(16+10*i, i, fmt.Sprintf("migration/%d", i), kthread{key: "migration", class: wakeMigration, period: 700 * ms})
		one(20+10*i, i, fmt.Sprintf("kworker/%d:1", i), kthread{key: "kworker", class: wakeWorker, period: 60 * ms})
	}
}

// policyOf gives the scheduling policy of the kernel threads of a class. Those of stop
// machine run before all others.
func policyOf(class int32) machine.Policy {
	if class == wakeMigration {
		return machine.FIFO // with priority 0, the highest
	}
	return machine.Normal
}

// nextWork gives the next round of a kernel thread.
func (w *mix) nextWork(k *kthread) machine.Stay {
	w.deliver()
	k.round = w.m.Now()
	return machine.Stay{
		Kind: machine.KernelWork, Code: w.pick(k.key),
		Wait: machine.Wait{Class: k.class, Timeout: w.around(w.periodOf(k)), By: machine.Sleep},
	}
}

// periodOf is the mean time after which a kernel thread wakes by itself at present.
func (w *mix) periodOf(k *kthread) machine.Time { return k.period * max(w.pace().Calm, 1) }

// calmRCU is how long the thread of RCU sleeps at least, for each unit of Config.Calm: no
// grace period begins as long as nobody needs one.
const calmRCU = 2 * machine.Millisecond

// rests reports whether t sleeps on although its work has been offered.
func (w *mix) rests(t *machine.Task, class int32) bool {
	k, ok := t.Data.(*kthread)
	return ok && class == wakeRCU && w.m.Now() < k.round+w.pace().Calm*calmRCU
}
