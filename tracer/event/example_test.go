package event_test

import (
	"fmt"

	"ftracelab/tracer/event"
)

type wakeup struct {
	Comm      [16]byte `c:"char comm[16]"`
	PID       int32    `c:"pid_t pid"`
	TargetCPU int32    `c:"int target_cpu"`
}

func ExampleDefine() {
	d := event.Define[wakeup](312, "sched", "sched_wakeup",
		`"comm=%s pid=%d target_cpu=%03d", REC->comm, REC->pid, REC->target_cpu`)

	data := d.Append(nil, event.Common{PID: 1}, &wakeup{Comm: [16]byte{'s', 'h'}, PID: 42, TargetCPU: 1})
	fmt.Printf("%s: %s\n", d.Name, d.AppendText(nil, data, nil))
	fmt.Printf("%d bytes\n%s", d.Size, d.Format())
	// Output:
	// sched_wakeup: comm=sh pid=42 target_cpu=001
	// 32 bytes
	// name: sched_wakeup
	// ID: 312
	// format:
	// 	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	// 	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	// 	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	// 	field:int common_pid;	offset:4;	size:4;	signed:1;
	//
	// 	field:char comm[16];	offset:8;	size:16;	signed:0;
	// 	field:pid_t pid;	offset:24;	size:4;	signed:1;
	// 	field:int target_cpu;	offset:28;	size:4;	signed:1;
	//
	// print fmt: "comm=%s pid=%d target_cpu=%03d", REC->comm, REC->pid, REC->target_cpu
}

func ExampleParseFormat() {
	typ, err := event.ParseFormat("sched", []byte(wakeupFormat))
	if err != nil {
		fmt.Println(err)
		return
	}
	data := make([]byte, typ.Size)
	copy(typ.Field("comm").Bytes(data), "kworker/0:1")
	fmt.Println(typ, typ.ID, typ.Size)
	fmt.Printf("%s\n", typ.AppendText(nil, data, nil))
	// Output:
	// sched/sched_wakeup 312 28
	// comm=kworker/0:1 pid=0
}
