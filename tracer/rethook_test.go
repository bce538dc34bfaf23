package tracer

import (
	"slices"
	"testing"

	"ftracelab/fgraph"
	"ftracelab/fgraph/rethook"
	"ftracelab/machine"
	"ftracelab/tracer/functions"
)

// TestRethookBesideGraph hooks returns in both ways at once, of all functions, in
// either order: each must see what it sees alone.
func TestRethookBesideGraph(t *testing.T) {
	type seen struct{ fn, value uint64 }
	run := func(names string) map[byte][]seen {
		ft := newRunning(t, machine.Config{})
		got := map[byte][]seen{}
		all := new(functions.OpsHash)
		for _, name := range []byte(names) {
			if name == 'g' {
				err := ft.users.RegisterGraph(&fgraph.Ops{
					Entry: func(*machine.CPU, *fgraph.Stack, fgraph.Call) bool { return true },
					Return: func(_ *machine.CPU, _ *fgraph.Stack, ret fgraph.Ret) {
						got['g'] = append(got['g'], seen{ret.Func, ret.Value})
					},
				}, all)
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			p := &rethook.Fprobe{MaxActive: 1000, Exit: func(_ *machine.CPU, fn, ret uint64, f *machine.Frame, _ []uint64) {
				got[name] = append(got[name], seen{fn, f.Value})
			}}
			p.Register(1, 1)
			ft.users.Register(&functions.Ops{Hash: all, Call: func(c *machine.CPU, f *machine.Frame) {
				p.Enter(c, &ft.data(c.Current).rethooks, f)
			}})
		}
		ft.Run(20 * machine.Millisecond)
		return got
	}
	graph, hook := run("g")['g'], run("r")['r']
	if len(graph) < 1000 || len(hook) < 1000 {
		t.Fatalf("%d and %d returns", len(graph), len(hook))
	}
	for _, names := range []string{"gr", "rg", "rgs"} {
		got := run(names)
		for _, name := range []byte(names) {
			want := hook
			if name == 'g' {
				want = graph
			}
			if !slices.Equal(got[name], want) {
				t.Errorf("%s: %c sees %d returns, alone %d", names, name, len(got[name]), len(want))
			}
		}
	}
}
