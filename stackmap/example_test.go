package stackmap_test

import (
	"fmt"
	"os"
	"strconv"

	"ftracelab/stackmap"
)

// Two stacks, one of them met three times, give two ids.
func ExampleMap_GetID() {
	cfg := stackmap.Documented()
	cfg.Seed = 0x5eed
	m, err := stackmap.New(cfg)
	if err != nil {
		panic(err)
	}
	alloc := []uint64{0xffffffff81234010, 0xffffffff81050020, 0xffffffff81000030}
	wakeup := []uint64{0xffffffff81077010, 0xffffffff81000030}
	for _, stack := range [][]uint64{alloc, wakeup, alloc, alloc} {
		id, err := m.GetID(0, stack)
		fmt.Println("<stack_id "+strconv.Itoa(int(id))+">", err)
	}
	m.WriteText(os.Stdout, nil)
	os.Stdout.Write(m.AppendStat(nil))
	// Output:
	// <stack_id 6640> <nil>
	// <stack_id 27059> <nil>
	// <stack_id 6640> <nil>
	// <stack_id 6640> <nil>
	// stack_id 6640 [ref 3, depth 3]
	//   [0] 0xffffffff81234010
	//   [1] 0xffffffff81050020
	//   [2] 0xffffffff81000030
	//
	// stack_id 27059 [ref 1, depth 2]
	//   [0] 0xffffffff81077010
	//   [1] 0xffffffff81000030
	//
	// entries:      2 / 16384
	// table_size:   32768
	// successes:    4
	// drops:        0
	// success_rate: 100%
}

// The size of the map on a kernel's command line. A value that is too large is clamped,
// as the kernel does it; of a value that is none the default remains.
func ExampleBootBits() {
	for _, cmdline := range []string{"quiet ftrace_stackmap.bits=12", "ftrace_stackmap.bits=30", "ftrace_stackmap.bits=many"} {
		fmt.Println(stackmap.BootBits(cmdline))
	}
	// Output:
	// 12 <nil>
	// 18 <nil>
	// 14 ftrace_stackmap.bits="many": stackmap: invalid argument
}
