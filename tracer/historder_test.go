package tracer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
)

// orderCommands are triggers of events that come and go: some generate the event they
// are on, or read variables that may not be there.
var orderCommands = map[string][]string{
	"sched/sched_waking": {
		"hist:keys=pid:ts=common_timestamp", "hist:keys=pid:ts=common_timestamp.usecs", "hist:keys=pid:p=prio",
		"hist:keys=pid:pr=prio:onmax($pr).save(comm,target_cpu)", "hist:keys=pid:pc=prio:onchange($pc).snapshot()",
		"hist:name=n:keys=pid", "enable_hist:synthetic:e", "enable_event:kprobes:k", "stacktrace:2",
	},
	"sched/sched_switch": {
		"hist:keys=next_pid:lat=common_timestamp-$ts:onmatch(sched.sched_waking).e($lat,next_pid)",
		"hist:keys=next_pid:onmatch(sched.sched_waking).e2(prio,pid)",
		"hist:keys=next_pid:z=$ts:w=$p:onmatch(sched.sched_waking).e($z,next_pid):onmax($w).trace(e,$w,next_pid):onchange($w).snapshot()",
		"hist:name=s:keys=next_pid:q=next_prio:onmax($q).e($q,next_pid)", "disable_hist:sched:sched_waking", "traceoff:1",
	},
	"synthetic/e": {
		"hist:keys=pid:x=v:onmatch(synthetic.e).e($x,pid)", "hist:keys=pid:y=v:onmatch(synthetic.e).e2($y,pid)",
		"hist:keys=v.log2,pid", "hist:name=n:keys=pid", "hist:keys=v.buckets=7:vals=pid:sort=v.descending,pid", "snapshot",
	},
	"synthetic/e2": {
		"hist:keys=pid:x3=v:onmatch(synthetic.e).e($x3,pid)", "hist:keys=pid:onmatch(synthetic.e).e(v,pid):onmatch(sched.sched_waking).e($ts,pid)",
		"hist:keys=pid:k2=$x+$y:onmax($k2).e2($k2,pid)", "hist:name=n:keys=pid",
	},
	"kprobes/k": {"hist:keys=common_pid", "hist:keys=common_pid.execname,common_stacktrace:kv=common_timestamp"},
}

// Triggers, the events they are on or generate, and instances come and go in any order,
// or may not: nothing panics, and all of it can be removed in the end.
func TestHistsInAnyOrder(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := &anyOrder{newTriggerLab(t), rand.New(rand.NewPCG(seed, 1))}
			for range 150 {
				o.step()
			}
			o.ft.Run(5 * machine.Millisecond)
			o.clean()
		})
	}
}

type anyOrder struct {
	*lab
	*rand.Rand
}

// events are those with triggers, dirs the instances that there may be.
var (
	orderEvents = []string{"sched/sched_waking", "sched/sched_switch", "synthetic/e", "synthetic/e2", "kprobes/k"}
	orderDirs   = []string{"", "instances/foo/", "instances/bar/"}
)

func one[T any](o *anyOrder, of ...T) T { return of[o.IntN(len(of))] }

// try writes what may be refused.
func (o *anyOrder) try(file, text string) { _ = tracefsfs.Append(o.fs, file, text+"\n") }

func (o *anyOrder) step() {
	dir, event := one(o, orderDirs...), one(o, orderEvents...)
	switch o.IntN(12) {
	case 0:
		o.try("synthetic_events", one(o, "e u64 v; pid_t pid", "e2 u64 v; pid_t pid", "!e", "!e2"))
		o.try("kprobe_events", one(o, "p:k vfs_read", "-:k"))
	case 1:
		if dir != "" && one(o, true, true, false) {
			_ = o.fs.Mkdir(dir[:len(dir)-1])
		} else if dir != "" {
			o.leave(dir)
			_ = o.fs.Rmdir(dir[:len(dir)-1])
		}
	case 2:
		o.ft.Run(uint64(o.IntN(4)) * machine.Millisecond)
	case 3:
		o.try(dir+"events/"+event+"/enable", one(o, "0", "1"))
	case 4:
		_, _ = o.fs.ReadFile(dir + "events/" + event + "/hist")
	default:
		text := one(o, orderCommands[event]...)
		if strings.HasPrefix(text, "hist") {
			text += one(o, "", "", "", "", ":pause", ":cont", ":clear")
		}
		o.try(dir+"events/"+event+"/trigger", one(o, "", "", "", "!")+text)
	}
}

// leave removes the hists on synthetic events of an instance, which would keep these.
func (o *anyOrder) leave(dir string) {
	for _, event := range []string{"synthetic/e", "synthetic/e2"} {
		if _, err := o.fs.Lookup(dir + "events/" + event); err == nil {
			o.do("-t", dir+"events/"+event+"/trigger", "")
		}
	}
}

// clean removes everything. What reads variables has to go before what has them, so it
// takes some rounds.
func (o *anyOrder) clean() {
	for range 4 {
		for _, dir := range orderDirs {
			for _, event := range orderEvents {
				for _, text := range orderCommands[event] {
					o.try(dir+"events/"+event+"/trigger", "!"+text)
				}
			}
		}
	}
	for _, dir := range orderDirs {
		for _, event := range orderEvents {
			file := dir + "events/" + event
			if _, err := o.fs.Lookup(file); err != nil {
				continue
			}
			o.want(file+"/trigger", o.read("events/sched/sched_stat_wait/trigger"))
			o.write(file+"/enable", "0")
			o.want(file+"/enable", "0\n")
		}
	}
	for _, dir := range orderDirs[1:] {
		if _, err := o.fs.Lookup(dir[:len(dir)-1]); err != nil {
			continue
		}
		if err := o.fs.Rmdir(dir[:len(dir)-1]); err != nil {
			o.t.Error(err)
		}
	}
	for _, file := range []string{"synthetic_events", "kprobe_events"} {
		if err := tracefsfs.WriteFile(o.fs, file, ""); err != nil {
			o.t.Error(err)
		}
	}
}
