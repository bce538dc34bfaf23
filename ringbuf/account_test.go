package ringbuf_test

import (
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// The writer's account and that of the decoder agree, page headers, time
// extends, tails and all.
func TestLedgerAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now uint64
		b, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 200 * 496, SubbufSize: 512, Clock: func(int) uint64 { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			now += steps.Draw(t, "step")
			length := rapid.OneOf(rapid.IntRange(0, 130), rapid.IntRange(0, b.MaxEventSize())).Draw(t, "length")
			e, err := b.Reserve(0, ringbuf.Normal, length)
			if err != nil {
				t.Fatal(err)
			}
			clear(e.Data)
			kind := rapid.IntRange(0, 5).Draw(t, "kind")
			if kind < 2 { // interrupted
				inner, err := b.Reserve(0, ringbuf.NMI, 9)
				if err != nil {
					t.Fatal(err)
				}
				clear(inner.Data)
				b.Commit(0, inner)
			}
			if kind%2 == 0 {
				b.Commit(0, e)
			} else {
				b.Discard(0, e)
			}
		}
		if err := ringbuf.Check(b, 0); err != nil {
			t.Fatal(err)
		}
		want := b.Ledger(0)
		var got ringbuf.Ledger
		image := make([]byte, 512)
		for b.ReadPage(0, image, false) {
			l, err := ringbuf.PageLedger(image)
			if err != nil {
				t.Fatal(err)
			}
			got.Add(l)
		}
		if want.Events == 0 {
			return // pages without events are not given out
		}
		got.Payload, want.Payload = got.Payload+got.Align, want.Payload+want.Align
		got.Tail, want.Tail = got.Tail+got.Unused, want.Tail+want.Unused
		got.Align, want.Align, got.Unused, want.Unused = 0, 0, 0, 0
		if got != want {
			t.Fatalf("decoder %+v\n writer %+v", got, want)
		}
	})
}
