package ringbuf_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// Settings that make no sense are named in an error, before memory is taken.
func TestConfigErrors(t *testing.T) {
	clock := func(int) uint64 { return 0 }
	for _, c := range []struct {
		cfg  ringbuf.Config
		want error
		name string
	}{
		{ringbuf.Config{Clock: clock}, syscall.EINVAL, "CPUs"},
		{ringbuf.Config{CPUs: -1, Clock: clock}, syscall.EINVAL, "CPUs"},
		{ringbuf.Config{CPUs: 1 << 40, Clock: clock}, syscall.EINVAL, "CPUs"},
		{ringbuf.Config{CPUs: 1}, syscall.EINVAL, "Clock"},
		{ringbuf.Config{CPUs: 1, Size: -1, Clock: clock}, syscall.EINVAL, "Size"},
		{ringbuf.Config{CPUs: 1, SubbufSize: -4096, Clock: clock}, syscall.EINVAL, "sub-buffer size -4096"},
		{ringbuf.Config{CPUs: 1, SubbufSize: 32, Clock: clock}, syscall.EINVAL, "sub-buffer size 32"},
		{ringbuf.Config{CPUs: 1, SubbufSize: 4095, Clock: clock}, syscall.EINVAL, "sub-buffer size 4095"},
		{ringbuf.Config{CPUs: 1, SubbufSize: 1 << 21, Clock: clock}, syscall.EINVAL, "sub-buffer size 2097152"},
		{ringbuf.Config{CPUs: 1, Size: math.MaxInt, SubbufSize: 64, Clock: clock}, syscall.ENOMEM, "sub-buffers"},
		{ringbuf.Config{CPUs: 8192, Size: 1 << 30, Clock: clock}, syscall.ENOMEM, "8192 CPUs"},
	} {
		if _, err := ringbuf.New(c.cfg); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%+v: %v, want %v", c.cfg, err, c.want)
		}
	}
	b := mustNew(t, ringbuf.Config{CPUs: 1, Clock: clock})
	for what, err := range map[string]error{
		"resize -1": b.Resize(0, -1), "order 0": b.SetSubbufSize(0), "order 100": b.SetSubbufSize(100), "order max": b.SetSubbufSize(math.MaxInt),
		"wait for 101": b.Wait(t.Context(), 0, 101), "wait for -1": b.Wait(t.Context(), 0, -1),
	} {
		if !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := b.Resize(0, math.MaxInt); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("resize to all there is: %v", err)
	}
}

// No sub-buffer holds these, with or without an open event.
func TestReserveAbsurd(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Clock: ticking()})
	absurd := func() {
		t.Helper()
		for _, length := range []int{-1, math.MinInt, 4073, 4096, 1 << 31, math.MaxInt} {
			if _, err := b.Reserve(0, ringbuf.IRQ, length); !errors.Is(err, ringbuf.ErrTooBig) {
				t.Errorf("%d bytes: %v", length, err)
			}
		}
	}
	absurd()
	e, err := b.Reserve(0, ringbuf.Normal, 20)
	if err != nil {
		t.Fatal(err)
	}
	absurd()
	b.Commit(0, e)
	if s := b.Stats(0); s.Entries != 1 {
		t.Errorf("%+v", s)
	}
	if err := ringbuf.Check(b, 0); err != nil {
		t.Error(err)
	}
	for _, n := range []int{0, 15, 16, 17} {
		if b.ReadPage(0, make([]byte, n), false) {
			t.Errorf("an event in %d bytes", n)
		}
	}
	if it := b.Iter(0); !b.Empty(0) {
		if e, ok := it.Next(); !ok || len(e.Data) != 20 {
			t.Errorf("then %v %v", e, ok)
		}
	}
}

// A clock that goes back is no reason to lose an event, nor to go back in time
// where stamps are differences.
func TestClockGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now uint64
		absolute := rapid.Bool().Draw(t, "absolute")
		b, err := ringbuf.New(ringbuf.Config{
			CPUs: 1, Size: 100 * 240, SubbufSize: 256, AbsoluteTime: absolute,
			Clock: func(int) uint64 { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, 100).Draw(t, "events")
		for range n {
			now = rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 1<<20)).Draw(t, "now")
			e, err := b.Reserve(0, ringbuf.Normal, rapid.IntRange(0, 150).Draw(t, "length"))
			if err != nil {
				t.Fatal(err)
			}
			clear(e.Data)
			if rapid.IntRange(0, 5).Draw(t, "interrupt") == 0 {
				if inner, err := b.Reserve(0, ringbuf.NMI, 4); err == nil {
					clear(inner.Data)
					b.Commit(0, inner)
					n++
				}
			}
			b.Commit(0, e)
		}
		b.Diagram(0)
		read := 0
		for _, ok := b.Consume(0); ok; _, ok = b.Consume(0) {
			read++
		}
		if read != n {
			t.Fatalf("%d of %d events", read, n)
		}
		if err := ringbuf.Check(b, 0); err != nil {
			t.Fatal(err)
		}
	})
}

// Misuse is a bug of the caller and panics with the invariant that it breaks.
func TestMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		says   string
		misuse func(b *ringbuf.Buffer)
	}{
		"commit of nothing":     {"commit of an event that is not reserved", func(b *ringbuf.Buffer) { b.Commit(0, ringbuf.Event{}) }},
		"commit twice":          {"commit of an event that is not reserved", func(b *ringbuf.Buffer) { e, _ := b.Reserve(0, 0, 4); b.Commit(0, e); b.Commit(0, e) }},
		"commit twice, plain":   {"commit of an event that is not reserved", func(b *ringbuf.Buffer) { numberedTwice(b); e, _ := b.Reserve(0, 0, 20); b.Commit(0, e); b.Commit(0, e) }},
		"discard of nothing":    {"discard of an event that is not reserved", func(b *ringbuf.Buffer) { b.Discard(0, ringbuf.Event{}) }},
		"discard twice":         {"discard of an event that is not reserved", func(b *ringbuf.Buffer) { e, _ := b.Reserve(0, 0, 4); b.Discard(0, e); b.Discard(0, e) }},
		"reset inside":          {"reset while an event is being written", func(b *ringbuf.Buffer) { b.Reserve(0, 0, 4); b.Reset(0) }},
		"reset inside, plain":   {"reset while an event is being written", func(b *ringbuf.Buffer) { numberedTwice(b); b.Reserve(0, 0, 20); b.Reset(0) }},
		"offline inside, plain": {"Offline while an event is being written", func(b *ringbuf.Buffer) { b.Online(0); numberedTwice(b); b.Reserve(0, 0, 20); b.Offline(0) }},
		"offline twice":         {"Offline without Online", func(b *ringbuf.Buffer) { b.Offline(0) }},
		"online twice":          {"Online of a CPU that is online", func(b *ringbuf.Buffer) { b.Online(0); b.Online(0) }},
		"nest too deep": {"NestStart without NestEnd", func(b *ringbuf.Buffer) {
			for range 100 {
				b.NestStart(0)
			}
		}},
		"unpin": {"UnpinSize without PinSize", func(b *ringbuf.Buffer) { b.UnpinSize(0) }},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if s := fmt.Sprint(recover()); !strings.HasPrefix(s, "ringbuf: invariant: "+c.says) {
					t.Errorf("recovered %s", s)
				}
			}()
			c.misuse(mustNew(t, ringbuf.Config{CPUs: 1, Clock: ticking()}))
		})
	}
}

// numberedTwice writes two events: the next of 20 bytes is a plain one.
func numberedTwice(b *ringbuf.Buffer) {
	for range 2 {
		e, _ := b.Reserve(0, ringbuf.Normal, 20)
		b.Commit(0, e)
	}
}

// The model, its steps chosen by the fuzzer.
func FuzzModel(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(strings.Repeat("\x00\x01\x02\x03\xff\x10\x80\x07", 200)))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { runModel(t, map[string]int{}) }))
}
