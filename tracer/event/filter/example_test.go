package filter_test

import (
	"errors"
	"fmt"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

type wakeup struct {
	Comm      [16]byte `c:"char comm[16]"`
	PID       int32    `c:"pid_t pid"`
	Prio      int32    `c:"int prio"`
	TargetCPU int32    `c:"int target_cpu"`
}

var wakeups = event.Define[wakeup](900, "sched", "wakeup", `"pid=%d", REC->pid`)

func ExampleParse() {
	f, err := filter.Parse(wakeups.Type, `prio < 100 && target_cpu & CPUS{2-3}`, filter.Env{CPUs: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range []wakeup{{PID: 1, Prio: 99, TargetCPU: 3}, {PID: 2, Prio: 120, TargetCPU: 3}, {PID: 3, Prio: 99}} {
		data := wakeups.Append(nil, event.Common{}, &w)
		fmt.Println(w.PID, f.Match(data, filter.Context{}))
	}
	// Output:
	// 1 true
	// 2 false
	// 3 false
}

func ExampleFile() {
	var file filter.File
	err := file.Write(wakeups.Type, "prio < 100 && comm == bash\n", filter.Env{CPUs: 4})
	var fault *filter.Error
	if errors.As(err, &fault) {
		fmt.Printf("%s: %s\n", filter.Location, fault.Msg)
	}
	fmt.Print(file.Show())
	// Output:
	// event filter parse error: Invalid value (did you forget quotes)?
	// prio < 100 && comm == bash
	//                        ^
	// parse_error: Invalid value (did you forget quotes)?
}
