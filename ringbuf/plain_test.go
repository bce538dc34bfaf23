package ringbuf_test

import (
	"bytes"
	"errors"
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// The short cut of a write leaves nothing that the long way would not have left:
// of two rings, one of which never takes it, the same comes out.
func TestPlainIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now uint64
		cfg := ringbuf.Config{CPUs: 1, Size: 5 * 240, SubbufSize: 256, Clock: func(int) uint64 { return now }}
		var rings [2]*ringbuf.Buffer
		for i := range rings {
			b, err := ringbuf.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			rings[i] = b
		}
		rings[1].Interrupt(0, func(ringbuf.Point) {})
		long := rings[1]
		var write func(ctx ringbuf.Context)
		write = func(ctx ringbuf.Context) {
			if rapid.IntRange(0, 9).Draw(t, "time") == 0 {
				now += steps.Draw(t, "step")
			} else {
				now += 10
			}
			length := rapid.OneOf(rapid.IntRange(9, 40), rapid.IntRange(0, long.MaxEventSize())).Draw(t, "length")
			var events [2]ringbuf.Event
			var errs [2]error
			for i, b := range rings {
				events[i], errs[i] = b.Reserve(0, ctx, length)
				for k := range events[i].Data {
					events[i].Data[k] = byte(length + k)
				}
			}
			if !errors.Is(errs[0], errs[1]) || events[0].Time != events[1].Time || !bytes.Equal(events[0].Data, events[1].Data) {
				t.Fatalf("%v, %v", errs[0], errs[1])
			}
			if errs[0] != nil {
				return
			}
			what := rapid.IntRange(0, 19).Draw(t, "what")
			if what < 3 && ctx < ringbuf.NMI {
				write(ctx + 1)
			}
			for i, b := range rings {
				if what%10 == 2 {
					b.Discard(0, events[i])
				} else {
					b.Commit(0, events[i])
				}
			}
		}
		read := func() {
			var images [2][]byte
			var ok [2]bool
			for i, b := range rings {
				images[i] = make([]byte, b.SubbufSize())
				ok[i] = b.ReadPage(0, images[i], false)
			}
			if ok[0] != ok[1] || !bytes.Equal(images[0], images[1]) {
				t.Fatalf("%v\n%s\n%v\n%s", ok[0], ringbuf.DumpPage(images[0]), ok[1], ringbuf.DumpPage(images[1]))
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "do") {
			case 0:
				read()
			case 1: // looks at the writer
				if a, b := rings[0].Ledger(0), long.Ledger(0); a != b {
					t.Fatalf("%+v\n%+v", a, b)
				}
			case 2:
				if a, b := rings[0].Diagram(0).String(), long.Diagram(0).String(); a != b {
					t.Fatalf("%s\n%s", a, b)
				}
			default:
				write(ringbuf.Context(rapid.IntRange(0, 2).Draw(t, "context")))
			}
			if a, b := rings[0].Stats(0), long.Stats(0); a != b {
				t.Fatalf("%+v\n%+v", a, b)
			}
		}
		for range 7 {
			read()
		}
	})
}
