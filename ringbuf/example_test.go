package ringbuf_test

import (
	"fmt"
	"strings"

	"ftracelab/ringbuf"
)

// An event is reserved, filled in place and committed. Readers get the events
// in order, and are told what they missed.
func Example() {
	var now uint64 // nanoseconds; the caller's business
	b, err := ringbuf.New(ringbuf.Config{
		CPUs:       1,
		Size:       2 * 48, // two sub-buffers
		SubbufSize: 64,     // tiny ones, the kernel's have 4096 bytes
		Clock:      func(cpu int) uint64 { return now },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 10 {
		now += 1000
		e, err := b.Reserve(0, ringbuf.Normal, 8)
		if err != nil {
			fmt.Println(err)
			return
		}
		copy(e.Data, fmt.Sprintf("event %d", i))
		b.Commit(0, e)
	}
	fmt.Printf("%+v\n", b.Stats(0))
	for e, ok := b.Consume(0); ok; e, ok = b.Consume(0) {
		fmt.Printf("%d: %q", e.Time, e.Data[:8])
		if e.Lost > 0 {
			fmt.Printf(" after %d lost", e.Lost)
		}
		fmt.Println()
	}
	// Output:
	// {Entries:4 Overrun:6 CommitOverrun:0 Bytes:64 OldestTS:7000 Dropped:0 Read:0}
	// 7000: "event 6\x00" after 6 lost
	// 8000: "event 7\x00"
	// 9000: "event 8\x00"
	// 10000: "event 9\x00"
}

// What is on a page: an event in the same nanosecond as the page, a later one; a
// long one that needs a length word, after a gap that needs a time extend. Then
// one is discarded: its room is given back, but the time of the last event is no
// longer sure, so the next one carries an absolute stamp. The last is interrupted
// by another and discarded: now its room is lost, and with it 50 ns, for readers do
// not add the delta of what was discarded.
func ExampleDumpPage() {
	var now uint64 = 5_000_000_000
	b, err := ringbuf.New(ringbuf.Config{CPUs: 1, SubbufSize: 512, Clock: func(int) uint64 { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	record := func(after uint64, ctx ringbuf.Context, text string) {
		now += after
		e, _ := b.Reserve(0, ctx, len(text))
		copy(e.Data, text)
		b.Commit(0, e)
	}
	record(0, ringbuf.Normal, "one")
	record(700, ringbuf.Normal, "two, a bit longer")
	record(1e9, ringbuf.Normal, strings.Repeat("long ", 30))

	now += 50
	e, _ := b.Reserve(0, ringbuf.Normal, 40)
	b.Discard(0, e)
	record(50, ringbuf.Normal, "next")

	now += 50
	e, _ = b.Reserve(0, ringbuf.Normal, 8)
	clear(e.Data)
	record(10, ringbuf.IRQ, "interrupt")
	b.Discard(0, e)

	page := make([]byte, b.SubbufSize())
	b.ReadPage(0, page, false)
	fmt.Print(ringbuf.DumpPage(page))
	// Output:
	// 0x000   16 page time_stamp=5000000000 commit=248
	// 0x010    8 data[4] type_len=1 +0 = 5000000000: 6f 6e 65 00
	// 0x018   24 data[20] type_len=5 +700 = 5000000700: 74 77 6f 2c 20 61 20 62 69 74 20 6c 6f 6e 67 65 …
	// 0x030    8 time extend +1000000000 = 6000000700
	// 0x038  160 data[152] type_len=0 +0 = 6000000700: 6c 6f 6e 67 20 6c 6f 6e 67 20 6c 6f 6e 67 20 6c …
	// 0x0d8    8 time stamp 6000000800 = 6000000800
	// 0x0e0    8 data[4] type_len=1 +0 = 6000000800: 6e 65 78 74
	// 0x0e8   16 padding +50
	// 0x0f8   16 data[12] type_len=3 +10 = 6000000810: 69 6e 74 65 72 72 75 70 74 00 00 00
	// 0x108  248 unused
}

// A write that is interrupted at B, word by word. The task has said in before_stamp
// that it is about to write when the interrupt comes: that finds the stamps unequal,
// does not know when the last event was, and stores its whole time. The task then
// finds at C that its room is not where it was to be, takes a new time (E), and as
// nobody came after that (F) stores the difference to write_stamp, the interrupt's
// time. Only the task's commit makes the two readable.
func ExampleBuffer_Interrupt() {
	now := uint64(1000)
	b, err := ringbuf.New(ringbuf.Config{CPUs: 1, SubbufSize: 256, Clock: func(int) uint64 { now += 10; return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func(ctx ringbuf.Context, text string) {
		e, _ := b.Reserve(0, ctx, len(text))
		copy(e.Data, text)
		b.Commit(0, e)
	}
	write(ringbuf.Normal, "one.")
	who := "task"
	b.Interrupt(0, func(at ringbuf.Point) {
		s := b.Diagram(0)
		page := s.Pages[1]
		fmt.Printf("%-6s%-8v before %d, write %d; %d bytes written, %d finished\n",
			who, at, s.BeforeStamp, s.WriteStamp, page.Write, page.Committed)
		if at == ringbuf.PointB && who == "task" {
			who = "  irq"
			write(ringbuf.IRQ, "irq!")
			who = "task"
		}
	})
	write(ringbuf.Normal, "two.")
	b.Interrupt(0, nil)
	for _, e := range b.Diagram(0).Pages[1].Events {
		fmt.Println(e)
	}
	// Output:
	// task  A        before 1010, write 1010; 8 bytes written, 8 finished
	// task  B        before 1020, write 1010; 8 bytes written, 8 finished
	//   irq A        before 1020, write 1010; 8 bytes written, 8 finished
	//   irq B        before 1030, write 1010; 8 bytes written, 8 finished
	//   irq C        before 1030, write 1010; 24 bytes written, 8 finished
	//   irq D        before 1030, write 1030; 24 bytes written, 8 finished
	//   irq commits  before 1030, write 1030; 24 bytes written, 8 finished
	//   irq commit   before 1030, write 1030; 24 bytes written, 8 finished
	//   irq lowered  before 1030, write 1030; 24 bytes written, 8 finished
	// task  C        before 1030, write 1030; 32 bytes written, 8 finished
	// task  E        before 1040, write 1030; 32 bytes written, 8 finished
	// task  F        before 1040, write 1030; 32 bytes written, 8 finished
	// task  commits  before 1040, write 1030; 32 bytes written, 8 finished
	// task  commit   before 1040, write 1030; 32 bytes written, 32 finished
	// task  lowered  before 1040, write 1030; 32 bytes written, 32 finished
	// data[4] type_len=1 +0 = 1010: 6f 6e 65 2e
	// time stamp 1030 = 1030
	// data[4] type_len=1 +0 = 1030: 69 72 71 21
	// data[4] type_len=1 +10 = 1040: 74 77 6f 2e
}

// A write step by step, on tiny pages. Ten events: two pages are full, the third
// is written. A reader takes the oldest page out of the ring and puts its empty
// one there. Then an event is begun and not ended: what is written (the second
// number) is ahead of what is finished (the first), and an interrupt that comes
// now moves on to the next page, but the commit stays behind until the outermost
// event ends.
func ExampleBuffer_Diagram() {
	b, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 3 * 48, SubbufSize: 64, Clock: func(int) uint64 { return 1 }})
	if err != nil {
		fmt.Println(err)
		return
	}
	record := func(n int, ctx ringbuf.Context) {
		for range n {
			e, _ := b.Reserve(0, ctx, 8) // 16 bytes with its header, three on a page
			clear(e.Data)
			b.Commit(0, e)
		}
	}
	record(8, ringbuf.Normal)
	fmt.Printf("eight events\n%s\n", b.Diagram(0))
	b.Consume(0)
	fmt.Printf("one is read\n%s\n", b.Diagram(0))
	e, _ := b.Reserve(0, ringbuf.Normal, 8)
	record(1, ringbuf.IRQ)
	fmt.Printf("one is begun, and interrupted by another\n%s\n", b.Diagram(0))
	clear(e.Data)
	b.Commit(0, e)
	fmt.Printf("it ends\n%s", b.Diagram(0))
	// Output:
	// eight events
	//     R             H                           CT
	// [ page 0 ]    [ page 1 ]--> [ page 2 ]--> [ page 3 ]-H>
	//   0 events      3 events      3 events      2 events
	//   0/0 B         48/48 B       48/48 B       32/32 B
	//
	// one is read
	//     R             H             CT
	// [ page 1 ]    [ page 2 ]--> [ page 3 ]--> [ page 0 ]-H>
	//   3 events      3 events      2 events      0 events
	//   48/48 B       48/48 B       32/32 B       0/0 B
	//
	// one is begun, and interrupted by another
	//     R             H             C             T
	// [ page 1 ]    [ page 2 ]--> [ page 3 ]--> [ page 0 ]-H>
	//   3 events      3 events      2 events      0 events
	//   48/48 B       48/48 B       32/48 B       0/16 B
	//
	// it ends
	//     R             H                           CT
	// [ page 1 ]    [ page 2 ]--> [ page 3 ]--> [ page 0 ]-H>
	//   3 events      3 events      3 events      1 events
	//   48/48 B       48/48 B       48/48 B       16/16 B
}
