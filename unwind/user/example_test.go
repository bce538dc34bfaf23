package user_test

import (
	"fmt"
	"os"

	"ftracelab/machine"
	"ftracelab/unwind/sframe"
	"ftracelab/unwind/user"
)

// words is a user stack.
type words map[uint64]uint64

func (w words) Load(addr uint64) (uint64, bool) {
	v, ok := w[addr]
	return v, ok
}

// Two frames with frame pointers.
func ExampleWalker_Walk() {
	mem := words{
		0x7000: 0x7040, 0x7008: 0x401136, // main's frame and its place in main
		0x7040: 0, 0x7048: 0x4010aa, // _start has no caller
	}
	var w user.Walker
	stack, why := w.Walk(nil, user.Regs{UserRegs: machine.UserRegs{IP: 0x4011f0, SP: 0x6ff0, FP: 0x7000}}, mem, 16)
	for _, ip := range stack {
		fmt.Printf("%#x\n", ip)
	}
	fmt.Println(why)
	// Output:
	// 0x4011f0
	// 0x401136
	// 0x4010aa
	// outermost frame
}

// In the middle of the function mid, which keeps no frame pointer: SFrame knows that its
// frame has 80 bytes. The C library, from which main was called, has no frame data here.
func ExampleObject() {
	b, err := os.ReadFile("../sframe/testdata/sample.elf.sframe")
	if err != nil {
		panic(err)
	}
	frames, err := sframe.Parse(b, 0x2188)
	if err != nil {
		panic(err)
	}
	const loaded = 0x555555554000
	w := user.Walker{
		Methods: []user.Method{user.SFrame},
		Objects: []user.Object{{Start: loaded + 0x1000, End: loaded + 0x1205, Bias: loaded, Frames: frames}},
	}
	const sp = 0x7ffe0000
	mem := words{
		sp + 72:  loaded + 0x11d8, // in mid's frame: mid returns to rec
		sp + 96:  0,               // in rec's frame of 32 bytes: what rbp was in main
		sp + 104: loaded + 0x11f0, // rec returns to main
		sp + 128: 1,               // in main's frame of 32 bytes: what rbp was in its caller
		sp + 136: 0x7ffff7df724a,  // main returns to the C library
	}
	stack, why := w.Walk(nil, user.Regs{UserRegs: machine.UserRegs{IP: loaded + 0x1150, SP: sp}}, mem, 16)
	for _, ip := range stack {
		fmt.Printf("%#x\n", ip)
	}
	fmt.Println(why)
	// Output:
	// 0x555555555150
	// 0x5555555551d8
	// 0x5555555551f0
	// 0x7ffff7df724a
	// no frame data
}
