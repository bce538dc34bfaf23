package ringbuf_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ftracelab/ringbuf"
)

// waiter waits in a goroutine of its own and sends what Wait returned.
func waiter(ctx context.Context, b *ringbuf.Buffer, cpu, percent int) <-chan error {
	done := make(chan error, 1)
	go func() { done <- b.Wait(ctx, cpu, percent) }()
	time.Sleep(5 * time.Millisecond)
	return done
}

func asleep(t *testing.T, done <-chan error) {
	t.Helper()
	time.Sleep(5 * time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("woken: %v", err)
	default:
	}
}

func woken(t *testing.T, done <-chan error, want error) {
	t.Helper()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Fatalf("woken with %v, want %v", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not woken")
	}
}

// Who waits for a percentage is woken when as many pages hold data, not before;
// who waits for any event by the first one, on this or on any CPU.
func TestWait(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 2, Size: 4 * 112, SubbufSize: 128, Clock: ticking()})
	ctx, cancel := context.WithCancel(t.Context())
	half, all := waiter(ctx, b, 0, 50), waiter(ctx, b, 0, 100)
	first, any := waiter(ctx, b, 0, 0), waiter(ctx, b, ringbuf.AllCPUs, 0)
	other := waiter(ctx, b, 1, 0)
	asleep(t, first)
	asleep(t, any)
	numbered(t, b, 0, 1)
	woken(t, first, nil)
	woken(t, any, nil)
	asleep(t, half)
	numbered(t, b, 1, 14)
	asleep(t, half)
	numbered(t, b, 14, 15)
	woken(t, half, nil)
	asleep(t, all)
	numbered(t, b, 15, 3*14+1)
	woken(t, all, nil)
	asleep(t, other)
	b.Wake(1)
	woken(t, other, nil)
	last := waiter(ctx, b, 1, 0)
	cancel()
	woken(t, last, context.Canceled)
	if err := b.Wait(t.Context(), 0, 101); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("101 percent: %v", err)
	}
}

// An event of an interrupt wakes nobody before the interrupted one has ended.
func TestWaitForOutermost(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, SubbufSize: 128, Clock: ticking()})
	done := waiter(t.Context(), b, 0, 0)
	e, err := b.Reserve(0, ringbuf.Normal, 8)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, ringbuf.IRQ, "irq!")
	asleep(t, done)
	b.Commit(0, e)
	woken(t, done, nil)
}

// No wake-up is lost: a writer that waits until it has been read after each event
// or page goes on for ever.
func TestNoLostWakeup(t *testing.T) {
	for _, percent := range []int{0, 25} {
		b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticks()})
		var read atomic.Uint64
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			for {
				if err := b.Wait(ctx, 0, percent); err != nil {
					done <- err
					return
				}
				for _, ok := b.Consume(0); ok; _, ok = b.Consume(0) {
					read.Add(1)
				}
			}
		}()
		const events = 5000
		for n := uint64(1); n <= events; n++ {
			if err := put(b, 0, ringbuf.Normal, n); err != nil {
				t.Fatal(err)
			}
			if !b.WatermarkHit(0, percent) {
				continue
			}
			for end := time.Now().Add(10 * time.Second); !b.Empty(0); runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d%%: the reader sleeps on after event %d, %+v", percent, n, b.Stats(0))
				}
			}
		}
		cancel()
		woken(t, done, context.Canceled)
		if s := b.Stats(0); s.Read < events-20 || s.Overrun != 0 {
			t.Errorf("%d%%: %+v", percent, s)
		}
	}
}

func TestSwap(t *testing.T) {
	cfg := ringbuf.Config{CPUs: 2, Size: 4 * 112, SubbufSize: 128, Clock: ticking()}
	main, snap := mustNew(t, cfg), mustNew(t, cfg)
	numbered(t, main, 0, 100)
	want := main.Stats(0)
	it := main.Iter(0)
	if e, _ := it.Next(); string(e.Data) != "0056" {
		t.Fatalf("oldest is %q", e.Data)
	}
	if err := ringbuf.SwapCPU(main, snap, 0); err != nil {
		t.Fatal(err)
	}
	if s := snap.Stats(0); s != want || !main.Empty(0) {
		t.Errorf("swapped out %+v, want %+v; the other empty: %v", s, want, main.Empty(0))
	}
	write(t, main, ringbuf.Normal, "new!")
	if e, _ := it.Next(); string(e.Data) != "new!" {
		t.Errorf("the iterator gives %q", e.Data)
	}
	if err := ringbuf.Swap(main, snap); err != nil || main.Stats(0) != want || snap.Stats(0).Entries != 1 {
		t.Errorf("swapped back: %v, %+v", err, main.Stats(0))
	}
	for cpu := range 2 {
		for _, b := range []*ringbuf.Buffer{main, snap} {
			if err := ringbuf.Check(b, cpu); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestSwapRefused(t *testing.T) {
	cfg := ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticking()}
	for _, c := range []struct {
		name string
		do   func(x, y *ringbuf.Buffer) error
		want error
	}{
		{"itself", func(x, _ *ringbuf.Buffer) error { return ringbuf.SwapCPU(x, x, 0) }, syscall.EINVAL},
		{"no such cpu", func(x, y *ringbuf.Buffer) error { return ringbuf.SwapCPU(x, y, 1) }, syscall.EINVAL},
		{"pages", func(x, y *ringbuf.Buffer) error { return errors.Join(y.Resize(0, 5*112), ringbuf.SwapCPU(x, y, 0)) }, syscall.EINVAL},
		{"order", func(x, y *ringbuf.Buffer) error {
			return errors.Join(y.SetSubbufSize(256), y.Resize(0, 4*240), ringbuf.Swap(x, y))
		}, syscall.EINVAL},
		{"off", func(x, y *ringbuf.Buffer) error { y.SetRecording(false); return ringbuf.SwapCPU(x, y, 0) }, syscall.EAGAIN},
		{"cpu off", func(x, y *ringbuf.Buffer) error { x.SetCPURecording(0, false); return ringbuf.Swap(x, y) }, syscall.EAGAIN},
		{"writing", func(x, y *ringbuf.Buffer) error {
			_, err := y.Reserve(0, ringbuf.Normal, 8)
			return errors.Join(err, ringbuf.SwapCPU(x, y, 0))
		}, syscall.EBUSY},
		{"mapped", func(x, y *ringbuf.Buffer) error {
			_, err := y.Map(0)
			return errors.Join(err, ringbuf.SwapCPU(x, y, 0))
		}, syscall.EBUSY},
	} {
		if err := c.do(mustNew(t, cfg), mustNew(t, cfg)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// Snapshots are taken of a writer at full speed; every event is in one of them, or
// counted as overwritten.
func TestSwapBesideWriter(t *testing.T) {
	cfg := ringbuf.Config{CPUs: 1, Size: 6 * 240, SubbufSize: 256, Clock: ticks()}
	main, snap := mustNew(t, cfg), mustNew(t, cfg)
	c := newCrew()
	var written, read, overrun uint64
	c.do(func() (err error) { written, err = writer(main, 0, &c.stop); return err })
	drain := func(b *ringbuf.Buffer) error {
		for e, ok := b.Consume(0); ok; e, ok = b.Consume(0) {
			if _, err := number(e.Data); err != nil {
				return err
			}
			read++
		}
		overrun += b.Stats(0).Overrun
		b.Reset(0)
		return nil
	}
	swaps := 0
	c.do(func() error {
		for ; !c.stop.Load(); swaps++ {
			if err := ringbuf.SwapCPU(main, snap, 0); err != nil {
				return err
			}
			if err := drain(snap); err != nil {
				return err
			}
		}
		return nil
	})
	c.wait(t, main)
	if err := drain(main); err != nil {
		t.Fatal(err)
	}
	if read+overrun != written {
		t.Errorf("%d written, %d read, %d overwritten", written, read, overrun)
	}
	t.Logf("%d written, %d snapshots", written, swaps)
}

// What a process that maps the ring sees, in the order of the kernel's own
// example: GET_READER, then read up to the commit of the reader's sub-buffer.
func TestMap(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticking()})
	m, err := b.Map(0)
	if err != nil {
		t.Fatal(err)
	}
	meta := func(off int) uint64 { return binary.LittleEndian.Uint64(m.Meta()[off:]) }
	if meta(0) != 128|80<<32 || meta(8) != 128|5<<32 {
		t.Errorf("meta page begins with %#x %#x", meta(0), meta(8))
	}
	numbered(t, b, 0, 6*14+3) // 14 on a page, so three pages are lost
	var got []string
	var lost uint64
	ids := map[uint64]bool{}
	for range 5 {
		m.GetReader()
		r, err := ringbuf.ReadPageImage(m.Reader())
		if err != nil {
			t.Fatal(err)
		}
		_, n, _ := r.Missed()
		lost += n
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			if e.IsData() {
				got = append(got, string(e.Data))
			}
		}
		ids[meta(24)&0xffffffff] = true
	}
	if len(got) < 3*14+3 || got[0] != "0042" || got[3*14+2] != "0086" || len(ids) != 4 {
		t.Errorf("got %d events: %v; sub-buffers %v", len(got), got, ids)
	}
	if meta(40) != 87 || meta(48) != 42 || meta(56) != 45 {
		t.Errorf("meta page: entries %d, overrun %d, read %d", meta(40), meta(48), meta(56))
	}
	if err := b.Resize(0, 1000); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("resize while mapped: %v", err)
	}
	m.Close()
	if err := b.Resize(0, 1000); err != nil {
		t.Error(err)
	}
	if _, err := b.Map(1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no such cpu: %v", err)
	}
	func() {
		defer func() {
			if s := fmt.Sprint(recover()); !strings.HasPrefix(s, "ringbuf: invariant: ") {
				t.Errorf("closed twice: %s", s)
			}
		}()
		m.Close()
	}()
}
