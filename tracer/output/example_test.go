package output_test

import (
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// A buffer with one function entry, printed as the file trace.
func ExamplePrinter() {
	function, err := event.ParseFormat("ftrace", []byte(`name: function
ID: 1
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned long ip;	offset:8;	size:8;	signed:0;
	field:unsigned long parent_ip;	offset:16;	size:8;	signed:0;

print fmt: " %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	types, _ := event.NewTable(function)

	b, err := ringbuf.New(ringbuf.Config{CPUs: 1, Clock: func(int) uint64 { return 7_252_859_189 }})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, _ := b.Reserve(0, ringbuf.Normal, 24)
	event.Common{Type: 1, Flags: 1, PreemptCount: 2, PID: 157}.Put(e.Data)
	e.Data[8], e.Data[16] = 0x40, 0x80
	b.Commit(0, e)

	p, err := output.New(output.Config{
		Tracer: "function", Options: output.DefaultOptions, Types: types, CPUs: 1,
		Comm: func(int32) string { return "bash" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := output.NewMerge(b.Iter(0))
	text := p.AppendHeader(nil, m, output.Counts{Entries: 1, Written: 1})
	for more := true; more; {
		text, more = p.AppendNext(text, m)
	}
	fmt.Print(string(text))
	// Output:
	// # tracer: function
	// #
	// # entries-in-buffer/entries-written: 1/1   #P:1
	// #
	// #                                _-----=> irqs-off/BH-disabled
	// #                               / _----=> need-resched
	// #                              | / _---=> hardirq/softirq
	// #                              || / _--=> preempt-depth
	// #                              ||| / _-=> migrate-disable
	// #                              |||| /     delay
	// #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
	// #              | |         |   |||||     |         |
	//             bash-157     [000] d..2.     7.252859: 0x00000040 <-0x00000080
}
