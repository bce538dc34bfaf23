package fgraph_test

import (
	"fmt"

	"ftracelab/fgraph"
	"ftracelab/machine"
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

// What an unwinder does when it meets the address of the return trampoline, and how a
// user keeps words from a function's entry to its return.
func ExampleGraph_RetAddr() {
	g := fgraph.New(fgraph.Config{})
	var shadow *fgraph.Stack
	ops := &fgraph.Ops{}
	ops.Entry = func(_ *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
		shadow = s
		s.Reserve(ops, 8)[0] = 42
		return true
	}
	ops.Return = func(_ *machine.CPU, s *fgraph.Stack, _ fgraph.Ret) {
		fmt.Println("kept since the entry:", s.Retrieve(ops))
	}
	if err := g.Register(ops); err != nil {
		fmt.Println(err)
		return
	}
	cpu := &machine.CPU{Current: &machine.Task{PID: 1}}
	frame := machine.Frame{IP: 0x1000, Ret: 0xa}
	g.Call(cpu, &frame)
	index := 0
	fmt.Printf("%d words on the shadow stack; %#x stands for %#x\n",
		len(shadow.Words(nil)), frame.Ret, g.RetAddr(shadow, &index, frame.Ret, 0))
	g.Leave(cpu, &frame)
	// Output:
	// 7 words on the shadow stack; 0xffffffff81093e00 stands for 0xa
	// kept since the entry: [42]
}
