package fgraph_test

import (
	"slices"
	"testing"

	"ftracelab/fgraph"
	"ftracelab/machine"
)

// TestMachine traces a running machine and compares each task's calls and
// returns, and the stacks an unwinder sees, with a run that is not traced.
func TestMachine(t *testing.T) {
	type seen struct {
		fn    uint64
		stack []uint64
	}
	run := func(traced bool) (calls map[int][]seen, open map[int][]uint64) {
		m := reader(t)
		g := fgraph.New(fgraph.Config{})
		calls, open = map[int][]seen{}, map[int][]uint64{}
		ops := &fgraph.Ops{
			Entry: func(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
				if call.Depth != len(open[key(c)]) {
					t.Fatalf("depth %d with %d calls open", call.Depth, len(open[key(c)]))
				}
				open[key(c)] = append(open[key(c)], call.Func)
				return true
			},
			Return: func(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
				o := open[key(c)]
				if len(o) == 0 || o[len(o)-1] != ret.Func {
					t.Fatalf("return of %#x with %x open", ret.Func, o)
				}
				open[key(c)] = o[:len(o)-1]
			},
		}
		if traced {
			if err := g.Register(ops); err != nil {
				t.Fatal(err)
			}
			m.Hooks.Return = g.Leave
			m.Hooks.Recover = func(task *machine.Task, index *int, ret, place uint64) uint64 {
				s, _ := task.Private.(*fgraph.Stack)
				return g.RetAddr(s, index, ret, place)
			}
		}
		m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
			pid := key(c)
			calls[pid] = append(calls[pid], seen{f.Func, c.AppendKernelStack(nil)})
			if traced {
				g.Call(c, f)
			}
		}
		m.Run(200 * machine.Microsecond)
		return calls, open
	}
	plain, _ := run(false)
	traced, open := run(true)
	if len(plain) < 2 {
		t.Fatalf("%d tasks ran", len(plain))
	}
	for pid, want := range plain {
		got := traced[pid]
		if !slices.EqualFunc(got, want, func(a, b seen) bool { return a.fn == b.fn && slices.Equal(a.stack, b.stack) }) {
			t.Errorf("task %d: %d calls traced, %d without", pid, len(got), len(want))
		}
		if len(open[pid]) > 8 {
			t.Errorf("task %d: %d calls never returned", pid, len(open[pid]))
		}
	}
}

// key tells tasks apart; each CPU has an idle task with pid 0.
func key(c *machine.CPU) int {
	if c.Current.PID == 0 {
		return -1 - c.ID
	}
	return c.Current.PID
}

// reader is a machine on which tasks read and sleep.
func reader(t *testing.T) *machine.Machine {
	t.Helper()
	m, err := machine.New(machine.Config{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := machine.NewAssembler(m.Kallsyms(), 100)
	read, err := a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("ksys_read").
		Call("vfs_read").Call("rw_verify_area").Return(2).Return(3).Code()
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("schedule").
		State(machine.FlagIRQsOff, 1, 0).Hide("__schedule").Switch(machine.StateInterruptible).
		Return(1).State(0, 0, 0).Return(3).Code()
	if err != nil {
		t.Fatal(err)
	}
	script := &machine.Script{Stays: map[string][]machine.Stay{"reader": {
		{Kind: machine.Syscall, After: 1000, Code: read, NR: 0},
		{Kind: machine.Syscall, After: 500, Code: sleep, NR: 35, Wait: machine.Wait{Class: 1, Timeout: 5000, By: machine.Sleep}},
	}}}
	m.Boot(machine.Kernel{Sites: a.Sites, Workload: script})
	for i := range 3 {
		m.Spawn(machine.TaskConfig{Comm: "reader", PID: 100 + i, CPU: i})
	}
	return m
}
