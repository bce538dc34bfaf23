package ringbuf_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"ftracelab/ringbuf"
)

// exampleBuffer is a buffer of one CPU with events of eight bytes in it, one each ns.
func exampleBuffer(events int) *ringbuf.Buffer {
	now := uint64(0)
	b, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 3 * 48, SubbufSize: 64, Clock: func(int) uint64 { now++; return now }})
	if err != nil {
		panic(err)
	}
	for i := range events {
		record(b, byte('a'+i))
	}
	return b
}

func record(b *ringbuf.Buffer, letter byte) {
	e, err := b.Reserve(0, ringbuf.Normal, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(e.Data, []byte{letter, letter, letter, letter})
	b.Commit(0, e)
}

// A reader that sleeps until half of the pages hold data (buffer_percent), beside a
// writer in a goroutine of its own. The writer says when it begins and ends, so that a
// change of the buffer need not wait for it.
func ExampleBuffer_Wait() {
	b := exampleBuffer(0)
	go func() {
		b.Online(0)
		defer b.Offline(0)
		for i := range 12 {
			record(b, byte('a'+i))
		}
	}()
	if err := b.Wait(context.Background(), 0, 50); err != nil {
		fmt.Println(err)
	}
	e, _ := b.Consume(0)
	fmt.Printf("%s\n", e.Data)
	// Output: aaaa
}

// A process that has mapped trace_pipe_raw moves on with an ioctl and finds the events
// in its memory. The meta page says which sub-buffer is the reader's.
func ExampleBuffer_Map() {
	b := exampleBuffer(5)
	m, err := b.Map(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	fmt.Println("resize:", b.Resize(0, 5*48))
	m.GetReader()
	fmt.Println("the reader's sub-buffer:", binary.LittleEndian.Uint32(m.Meta()[24:]))
	page, err := ringbuf.ReadPageImage(m.Reader())
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, ok := page.Next(); ok; e, ok = page.Next() {
		fmt.Println(e)
	}
	// Output:
	// resize: ringbuf: resize cpu 0: device or resource busy
	// the reader's sub-buffer: 1
	// data[4] type_len=1 +0 = 1: 61 61 61 61
	// data[4] type_len=1 +1 = 2: 62 62 62 62
	// data[4] type_len=1 +1 = 3: 63 63 63 63
	// data[4] type_len=1 +1 = 4: 64 64 64 64
	// data[4] type_len=1 +1 = 5: 65 65 65 65
}

// What a kernel finds in memory that survived a crash, while an event was half written.
func ExampleRecover() {
	b := exampleBuffer(3)
	if _, err := b.Reserve(0, ringbuf.Normal, 4); err != nil { // and then the kernel crashes
		fmt.Println(err)
		return
	}
	image := b.Image(0, 0xffff888000000000)
	found, err := ringbuf.Recover(image, ringbuf.Config{Clock: func(int) uint64 { return 0 }, SubbufSize: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, ok := found.Consume(0); ok; e, ok = found.Consume(0) {
		fmt.Printf("%d: %s\n", e.Time, e.Data)
	}
	image[56] = 9
	_, err = ringbuf.Recover(image, ringbuf.Config{Clock: func(int) uint64 { return 0 }, SubbufSize: 64})
	fmt.Println(err)
	// Output:
	// 1: aaaa
	// 2: bbbb
	// 3: cccc
	// ringbuf: image offset 56: sub-buffer 9 of 4: invalid argument
}

// Where the bytes of a page went. A read that asks for fewer bytes than the page holds
// gets whole events.
func ExamplePageLedger() {
	b := exampleBuffer(5)
	page := make([]byte, 64)
	b.ReadPageN(0, page, 40, false)
	l, err := ringbuf.PageLedger(page)
	fmt.Printf("%+v %v\n", l, err)
	// Output:
	// {Events:3 Pages:1 PageHeader:16 EventHeader:12 LengthWord:0 Payload:12 Align:0 Extend:0 Discarded:0 Tail:24 Unused:0} <nil>
}

// With absolute time (timestamp_mode) each event carries its whole time; without, only
// what has passed since the one before.
func ExampleBuffer_SetAbsoluteTime() {
	b := exampleBuffer(1)
	b.SetAbsoluteTime(true)
	record(b, 'b')
	fmt.Println("CPU 0 records:", b.CPURecording(0))
	for _, p := range b.Diagram(0).Pages {
		for _, e := range p.Events {
			fmt.Println(p.Letters(), e)
		}
	}
	// Output:
	// CPU 0 records: true
	// HCT data[4] type_len=1 +0 = 1: 61 61 61 61
	// HCT time stamp 2 = 2
	// HCT data[4] type_len=1 +0 = 2: 62 62 62 62
}

// A reader that must not see the sub-buffers change pins them while it looks.
func ExampleBuffer_PinSize() {
	b := exampleBuffer(2)
	b.PinSize(0)
	fmt.Println(b.SetSubbufSize(128))
	it := b.Iter(0)
	for e, ok := it.Peek(); ok; e, ok = it.Peek() {
		it.Next()
		fmt.Printf("%s\n", e.Data)
	}
	b.UnpinSize(0)
	fmt.Println(b.SetSubbufSize(128))
	// Output:
	// ringbuf: resize cpu 0: device or resource busy
	// aaaa
	// bbbb
	// <nil>
}
