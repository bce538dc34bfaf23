package tracer

import (
	"slices"
	"testing"

	"ftracelab/fgraph"
	"ftracelab/fgraph/rethook"
	"ftracelab/fgraph/slots"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer/dynevent"
	"ftracelab/workload"
)

// Stacks that are taken while functions are hooked by function_graph, by fprobes and
// kretprobes and by the slots of 2008, each alone and several at once, are those that the
// machine has without any hook. The words on the stack are not: the hooks are there. And
// each function returns to where it was called, also after others were left at once.
func TestStacksAreRecovered(t *testing.T) {
	functions := "vfs_* ksys_* *_sys_* schedule* kmem_cache_alloc_noprof\n"
	type sample struct {
		pid   int
		fn    uint64
		stack uint64 // a hash
	}
	run := func(t *testing.T, scenario string, cfg Config, set func(l *dynLab)) (samples []sample, replaced int) {
		m, err := machine.New(machine.Config{CPUs: 2})
		if err != nil {
			t.Fatal(err)
		}
		sc, err := workload.Find(scenario)
		if err != nil {
			t.Fatal(err)
		}
		if err := sc.Start(m); err != nil {
			t.Fatal(err)
		}
		ft, err := New(m, cfg)
		if err != nil {
			t.Fatal(err)
		}
		set(&dynLab{t, ft, tracefsfs.New(ft.Root())})
		call := ft.machine.Hooks.Call
		var stack, words []uint64
		ft.machine.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
			stack, words = c.AppendKernelStack(stack[:0]), c.AppendStackWords(words[:0])
			sum := uint64(len(stack))
			for i, ip := range stack {
				sum = sum*1099511628211 ^ ip
				if ip != words[i] {
					replaced++
				}
			}
			samples = append(samples, sample{c.Current.PID, f.Func, sum})
			if call != nil {
				call(c, f)
			}
		}
		leave := ft.machine.Hooks.Return
		ft.machine.Hooks.Return = func(c *machine.CPU, f *machine.Frame) {
			leave(c, f)
			if _, slot := slots.Trampoline(f.Ret); slot || f.Ret == fgraph.ReturnToHandler || f.Ret == rethook.Trampoline {
				return // what is there now was put there for the function that jumped here
			}
			if f.Ret != f.Parent() {
				t.Errorf("a function returns to %#x, not to %#x", f.Ret, f.Parent())
			}
		}
		ft.Run(30 * machine.Millisecond)
		return samples, replaced
	}
	graph := func(l *dynLab) {
		l.must("set_ftrace_filter", functions)
		l.must("current_tracer", "function_graph\n")
	}
	probes := func(l *dynLab) {
		l.must("dynamic_events", "f:p1 vfs_*%return\n")
		l.append("dynamic_events", "r100:p2 ksys_read\n")
		l.append("dynamic_events", "r100:p3 vfs_read\n")
		l.must("events/fprobes/enable", "1\n")
		l.must("events/kprobes/enable", "1\n")
	}
	for _, scenario := range []string{"mix", "longjmp"} {
		if scenario == "longjmp" {
			functions = "lj_* vfs_* ksys_* *_sys_*\n"
			probes = func(l *dynLab) {
				l.must("dynamic_events", "f:p1 lj_*%return\n")
				l.append("dynamic_events", "r100:p2 lj_b\n")
				l.must("events/fprobes/enable", "1\n")
				l.must("events/kprobes/enable", "1\n")
			}
		}
		for _, c := range []struct {
			name string
			cfg  Config
			set  func(l *dynLab)
		}{
			{"function_graph", Config{}, graph},
			{"rethook", Config{}, probes},
			{"both", Config{}, func(l *dynLab) { graph(l); probes(l) }},
			{"the other order", Config{}, func(l *dynLab) { probes(l); graph(l) }},
			{"fprobe on fgraph", Config{Fprobe: dynevent.FprobeGraph}, func(l *dynLab) { probes(l); graph(l) }},
			{"slots", Config{ReturnSlots: 32}, func(l *dynLab) {
				l.must("set_ftrace_filter", functions)
				l.must("current_tracer", "return\n")
			}},
		} {
			t.Run(scenario+" "+c.name, func(t *testing.T) {
				want, none := run(t, scenario, c.cfg, func(*dynLab) {})
				got, replaced := run(t, scenario, c.cfg, c.set)
				if none != 0 || replaced < 100 {
					t.Errorf("%d words were replaced, %d without hooks", replaced, none)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d stacks, %d without hooks, or they differ", len(got), len(want))
				}
			})
		}
	}
}
