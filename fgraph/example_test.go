package fgraph_test

import (
	"fmt"

	"ftracelab/fgraph"
	"ftracelab/workload/machine"
)

// A tracer that prints each function of one task with its duration.
func ExampleGraph() {
	g := fgraph.New(fgraph.Config{})
	err := g.Register(&fgraph.Ops{
		Entry: func(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
			fmt.Printf("%*s%#x {\n", 2*call.Depth, "", call.Func)
			return true
		},
		Return: func(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
			fmt.Printf("%*s} %d ns\n", 2*ret.Depth, "", ret.Rettime-ret.Calltime)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// What the machine does when a function calls another: the frames are on its
	// stack, and a return address that was replaced leads to the return hook.
	cpu := &machine.CPU{Current: &machine.Task{PID: 1}}
	outer := machine.Frame{IP: 0x1000, Ret: 0xa}
	inner := machine.Frame{IP: 0x2000, Ret: 0x1008}
	g.Call(cpu, &outer)
	cpu.Time += 100
	g.Call(cpu, &inner)
	cpu.Time += 30
	g.Leave(cpu, &inner)
	cpu.Time += 5
	g.Leave(cpu, &outer)
	fmt.Printf("goes on at %#x\n", outer.Ret)
	// Output:
	// 0x1000 {
	//   0x2000 {
	//   } 30 ns
	// } 135 ns
	// goes on at 0xa
}
