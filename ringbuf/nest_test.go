package ringbuf_test

import (
	"errors"
	"fmt"
	"testing"

	"ftracelab/ringbuf"
)

func mustNew(tb testing.TB, cfg ringbuf.Config) *ringbuf.Buffer {
	tb.Helper()
	b, err := ringbuf.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// write records data in one go.
func write(tb testing.TB, b *ringbuf.Buffer, ctx ringbuf.Context, data string) ringbuf.Event {
	tb.Helper()
	e, err := b.Reserve(0, ctx, len(data))
	if err != nil {
		tb.Fatal(err)
	}
	copy(e.Data, data)
	b.Commit(0, e)
	return e
}

// An interrupt that writes at every point of the writer, and another that
// interrupts it at every point: whatever happens, all events are read once, in
// the order of their reservation, and time never goes backwards; an event has the
// time taken for it, or that of the event before it.
func TestInterruptsAtEveryPoint(t *testing.T) {
	forced, zero := 0, 0
	for _, absolute := range []bool{false, true} {
		for outer := range ringbuf.Points {
			for inner := range ringbuf.Points {
				for fill := range 12 { // how near the end of the page it happens
					name := fmt.Sprintf("absolute=%v irq at %v, nmi at %v, after %d", absolute, ringbuf.Point(outer), ringbuf.Point(inner), fill)
					a, z := interrupted(t, name, absolute, ringbuf.Point(outer), ringbuf.Point(inner), fill)
					forced, zero = forced+a, zero+z
				}
			}
		}
	}
	if forced == 0 || zero == 0 {
		t.Errorf("%d absolute stamps, %d events with the time of the one before: not all was tried", forced, zero)
	}
}

func interrupted(t *testing.T, name string, absolute bool, outer, inner ringbuf.Point, fill int) (forced, zero int) {
	var now uint64
	b := mustNew(t, ringbuf.Config{
		CPUs: 1, Size: 4 * 112, SubbufSize: 128, AbsoluteTime: absolute,
		Clock: func(int) uint64 { now += 10; return now },
	})
	taken := map[string]uint64{}
	for i := range fill {
		data := fmt.Sprintf("f%03d", i)
		taken[data] = write(t, b, ringbuf.Normal, data).Time
	}
	depth := 0
	b.Interrupt(0, func(point ringbuf.Point) {
		switch {
		case depth == 0 && point == outer:
			depth = 1
			taken["irq!"] = write(t, b, ringbuf.IRQ, "irq!").Time
			depth = 2
		case depth == 1 && point == inner && taken["nmi!"] == 0:
			taken["nmi!"] = 1 // the next page is a second try: once is enough
			taken["nmi!"] = write(t, b, ringbuf.NMI, "nmi!").Time
		}
	})
	taken["task"] = write(t, b, ringbuf.Normal, "task").Time
	b.Interrupt(0, nil)
	taken["last"] = write(t, b, ringbuf.Normal, "last").Time

	if err := ringbuf.Check(b, 0); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	committed := uint64(len(taken))
	if s := b.Stats(0); s.Entries+s.Overrun != committed {
		t.Fatalf("%s: %+v of %d events", name, s, committed)
	}
	image := make([]byte, b.SubbufSize())
	var before uint64
	for b.ReadPage(0, image, false) {
		r, err := ringbuf.ReadPageImage(image)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			if !e.IsData() {
				continue
			}
			if e.Absolute {
				forced++
			}
			switch {
			case e.Time < before:
				t.Fatalf("%s: time goes back from %d to %d\n%s", name, before, e.Time, ringbuf.DumpPage(image))
			case e.Time == before:
				zero++
			case e.Time != taken[string(e.Data)]:
				t.Fatalf("%s: %q at %d, its time was %d\n%s", name, e.Data, e.Time, taken[string(e.Data)], ringbuf.DumpPage(image))
			}
			before = e.Time
			delete(taken, string(e.Data))
		}
		if r.Err() != nil {
			t.Fatalf("%s: %v", name, r.Err())
		}
	}
	if s := b.Stats(0); s.Read+s.Overrun != committed || uint64(len(taken)) != s.Overrun {
		t.Fatalf("%s: not read: %v, %+v", name, taken, s)
	}
	return forced, zero
}

func TestRecursion(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Clock: func(int) uint64 { return 1 }})
	var open []ringbuf.Event
	reserve := func(ctx ringbuf.Context, want error) {
		t.Helper()
		e, err := b.Reserve(0, ctx, 8)
		if !errors.Is(err, want) {
			t.Fatalf("context %d: %v, want %v", ctx, err, want)
		}
		if err == nil {
			clear(e.Data)
			open = append(open, e)
		}
	}
	reserve(ringbuf.Normal, nil)
	reserve(ringbuf.SoftIRQ, nil)
	reserve(ringbuf.IRQ, nil)
	reserve(ringbuf.NMI, nil)
	reserve(ringbuf.NMI, nil) // one is let through
	reserve(ringbuf.NMI, ringbuf.ErrRecursion)
	reserve(ringbuf.Normal, ringbuf.ErrRecursion)
	b.NestStart(0)
	reserve(ringbuf.Normal, nil)
	b.Commit(0, open[len(open)-1])
	open = open[:len(open)-1]
	b.NestEnd(0)
	if !b.Empty(0) {
		t.Error("readable while the outermost event is open")
	}
	for i := len(open) - 1; i >= 0; i-- {
		b.Commit(0, open[i])
	}
	if got := b.Stats(0).Entries; got != 6 {
		t.Errorf("%d entries, want 6", got)
	}
	if err := ringbuf.Check(b, 0); err != nil {
		t.Error(err)
	}
}

// Interrupts that write more than the ring holds come round to the unfinished
// event, and are refused.
func TestCommitOverrun(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 2 * 112, SubbufSize: 128, Clock: func(int) uint64 { return 1 }})
	outer, err := b.Reserve(0, ringbuf.Normal, 8)
	if err != nil {
		t.Fatal(err)
	}
	refused := uint64(0)
	for range 100 {
		e, err := b.Reserve(0, ringbuf.IRQ, 20)
		if err == nil {
			b.Commit(0, e)
		} else if refused++; !errors.Is(err, ringbuf.ErrCommitOverrun) {
			t.Fatal(err)
		}
	}
	b.Commit(0, outer)
	if s := b.Stats(0); s.CommitOverrun != refused || refused == 0 || s.Overrun != 0 || s.Entries != 101-refused {
		t.Errorf("%d refused: %+v", refused, s)
	}
	if err := ringbuf.Check(b, 0); err != nil {
		t.Error(err)
	}
}
