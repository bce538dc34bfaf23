package unwind_test

import (
	"fmt"

	"ftracelab/machine"
	"ftracelab/unwind"
	"ftracelab/unwind/cookie"
)

// Kernels and machines differ in how many tracers there can be, how deep a stack can be, and
// in the cookie of one and the same stay.
func ExampleConfig() {
	for _, c := range []struct {
		name string
		cfg  unwind.Config
	}{
		{"Linux 6.17", unwind.Config{CPUs: 8}},
		{"a 32-bit machine", unwind.Config{CPUs: 8, Word32: true}},
		{"January 2025", unwind.Config{CPUs: 8, Cookies: cookie.January2025, Cache512: true}},
	} {
		d := unwind.NewDeferred(c.cfg)
		w := &unwind.Work{Func: func(*unwind.Task, []uint64, cookie.ID) {}}
		if err := d.Init(w); err != nil {
			fmt.Println(err)
		}
		task := d.NewTask(&machine.Task{PID: 1, User: machine.UserRegs{IP: 0x401000}})
		_, id, err := d.Request(task, 7, w)
		if err != nil {
			fmt.Println(err)
		}
		d.ReturnToUser(task)
		fmt.Printf("%s: %d tracers, %d addresses, cookie=%x\n", c.name, c.cfg.MaxWorks(), c.cfg.MaxEntries(), uint64(id))
	}
	// Output:
	// Linux 6.17: 62 tracers, 510 addresses, cookie=300000008
	// a 32-bit machine: 30 tracers, 1022 addresses, cookie=300000008
	// January 2025: 62 tracers, 512 addresses, cookie=7000000000001
}
