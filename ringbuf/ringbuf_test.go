package ringbuf_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
)

// ticking is a clock that a test moves by hand, 1 per event.
func ticking() func(int) uint64 {
	var now uint64
	return func(int) uint64 { now++; return now }
}

func numbered(tb testing.TB, b *ringbuf.Buffer, from, to int) {
	tb.Helper()
	for i := from; i < to; i++ {
		write(tb, b, ringbuf.Normal, fmt.Sprintf("%04d", i))
	}
}

// The values that the kernel reads back from buffer_size_kb.
func TestSizeKB(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 2, Clock: ticking()})
	for kb, want := range map[int]int{1: 7, 4: 7, 7: 7, 8: 11, 100: 103, 256: 258, 1000: 1000, 1408: 1410, 5000: 5000} {
		if err := b.ResizeAll(kb << 10); err != nil {
			t.Fatal(err)
		}
		if got := b.SizeKB(1); got != want {
			t.Errorf("%d KB read back as %d, want %d", kb, got, want)
		}
	}
}

func TestDescriptions(t *testing.T) {
	dir := filepath.Join(testutil.Oracle(t), "debian", "static")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got, want := ringbuf.HeaderPage(4096), read("header_page.txt"); got != want {
		t.Errorf("header_page:\n%s\nwant:\n%s", got, want)
	}
	if got, want := ringbuf.HeaderEvent(), read("header_event.txt"); got != want {
		t.Errorf("header_event:\n%s\nwant:\n%s", got, want)
	}
	// Sections of subbuf_size.txt: what was written, three numbers read back
	// (the first is the size in KB), header_page.
	for _, section := range strings.Split(read("subbuf_size.txt"), "== subbuf ")[1:] {
		var kb int
		_, rest, _ := strings.Cut(section, "\n")
		for ; !strings.HasPrefix(rest, "\t"); _, rest, _ = strings.Cut(rest, "\n") {
			if kb == 0 {
				fmt.Sscan(rest, &kb)
			}
		}
		if got := ringbuf.HeaderPage(kb << 10); got != rest {
			t.Errorf("header_page of %d KB:\n%s\nwant:\n%s", kb, got, rest)
		}
	}
}

func TestResizeRefused(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 2, Size: 40800, Clock: ticking()})
	b.PinSize(1)
	if err := b.Resize(1, 1<<20); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("pinned: %v", err)
	}
	if err := b.ResizeAll(1 << 20); !errors.Is(err, syscall.EBUSY) || b.Pages(0) != 10 {
		t.Errorf("one pinned: %v, the other has %d pages", err, b.Pages(0))
	}
	if err := b.SetSubbufSize(8192); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("sub-buffer size, pinned: %v", err)
	}
	b.UnpinSize(1)
	e, err := b.Reserve(0, ringbuf.Normal, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Resize(0, 1<<20); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("while an event is open: %v", err)
	}
	b.Commit(0, e)
	if err := b.Resize(0, -1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("negative: %v", err)
	}
	if err := b.Resize(0, 1<<20); err != nil || b.Pages(0) != 258 {
		t.Errorf("%v, %d pages", err, b.Pages(0))
	}
}

// Shrinking cuts off the oldest events of the ring and counts them.
func TestShrink(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 8 * 112, SubbufSize: 128, Clock: ticking()})
	numbered(t, b, 0, 7*14+3) // 14 on a page
	if e, _ := b.Consume(0); string(e.Data) != "0000" {
		t.Fatalf("first is %q", e.Data)
	}
	if err := b.Resize(0, 3*112); err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(0); s.Overrun != 4*14 || s.Read != 1 {
		t.Errorf("%+v", s)
	}
	for i := 1; i < 14; i++ { // what is on the reader page stays
		if e, _ := b.Consume(0); string(e.Data) != fmt.Sprintf("%04d", i) || e.Lost != 0 {
			t.Fatalf("%q, want %d", e.Data, i)
		}
	}
	if e, _ := b.Consume(0); string(e.Data) != fmt.Sprintf("%04d", 5*14) || e.Lost != 4*14 {
		t.Errorf("behind the cut: %q, %d lost", e.Data, e.Lost)
	}
	if err := ringbuf.Check(b, 0); err != nil {
		t.Error(err)
	}
}

func TestSetSubbufSize(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 40800, Clock: ticking()})
	numbered(t, b, 0, 100)
	if err := b.SetSubbufSize(65536); err != nil {
		t.Fatal(err)
	}
	if b.SubbufSize() != 65536 || b.Pages(0) != 2 || !b.Empty(0) || b.MaxEventSize() != 65536-24 {
		t.Errorf("sub-buffers of %d, %d of them, empty %v, biggest event %d", b.SubbufSize(), b.Pages(0), b.Empty(0), b.MaxEventSize())
	}
	numbered(t, b, 0, 100)
	if s := b.Stats(0); s.Entries != 100 {
		t.Errorf("%+v", s)
	}
	if err := b.SetSubbufSize(100); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("100: %v", err)
	}
}

// An iterator shows the same again and again, starts anew when the ring is read,
// cut or reset, and tells when the writer has overtaken it.
func TestIter(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticking()})
	it := b.Iter(0)
	if _, ok := it.Next(); ok {
		t.Fatal("an event in an empty ring")
	}
	expect := func(what, data string, lost uint64) {
		t.Helper()
		p, _ := it.Peek()
		if e, _ := it.Next(); string(e.Data) != data || e.Lost != lost || e.Time != p.Time {
			t.Fatalf("%s: %q at %d, lost %d; want %q, %d", what, e.Data, e.Time, e.Lost, data, lost)
		}
	}
	numbered(t, b, 0, 3*14)
	for i := range 20 {
		expect("first round", fmt.Sprintf("%04d", i), 0)
	}
	numbered(t, b, 42, 8*14) // the ring holds 4 pages, the iterator is on the second
	for i := 20; i < 28; i++ {
		expect("the page it is on", fmt.Sprintf("%04d", i), 0)
	}
	expect("overtaken", "0056", ringbuf.LostUnknown)
	expect("and on", "0057", 0)
	it.Reset()
	expect("from the start", "0056", 0)
	b.Consume(0)
	expect("after consuming", "0057", 0)
	if err := b.Resize(0, 2*112); err != nil {
		t.Fatal(err)
	}
	expect("after shrinking", "0057", 0) // the reader page
	b.Reset(0)
	if _, ok := it.Next(); ok {
		t.Error("an event after reset")
	}
	write(t, b, ringbuf.Normal, "new!")
	expect("after reset", "new!", 0)
}

// An iterator that comes to a page while the writer enters it has the new number with
// the old memory. When the page is the oldest again it looks at both.
func TestIterPageBeingEntered(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticking()})
	numbered(t, b, 0, 4*14)
	it := b.Iter(0)
	var undo func()
	ringbuf.Pause(b, 0, func(point string) {
		switch {
		case point == "page" && undo == nil:
			undo = ringbuf.EnterHalfway(b, 0)
		case point == "spin":
			undo()
			numbered(t, b, 4*14, 8*14)
		}
	})
	for i := 4 * 14; i < 8*14; i++ {
		e, ok := it.Next()
		lost := uint64(0)
		if i == 4*14 {
			lost = ringbuf.LostUnknown
		}
		if want := fmt.Sprintf("%04d", i); !ok || string(e.Data) != want || e.Lost != lost {
			t.Fatalf("%q, lost %d, %v; want %s, lost %d", e.Data, e.Lost, ok, want, lost)
		}
	}
}

// A big ring that is drained as it fills holds the memory of a few pages.
func TestDrainedRingStaysSmall(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 1 << 28, Clock: ticking()})
	image := make([]byte, 4096)
	for range 300 {
		for range 500 {
			write(t, b, ringbuf.Normal, "0123456789abcdef")
		}
		for b.ReadPage(0, image, false) {
		}
	}
	if n := ringbuf.HeldPages(b, 0); n > 8 {
		t.Errorf("%d pages of memory", n)
	}
}

// Memory that is spare goes round: the writer takes what has been spare for
// longest, and leaves the last.
func TestSpareMemoryGoesRound(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 20 * 112, SubbufSize: 128, Clock: ticking()})
	var seen []*byte // of each piece of memory, in the order of its first use
	use := func(events int) (order []int) {
		for range events { // an event fills a page
			e, err := b.Reserve(0, ringbuf.Normal, 100)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.Index(seen, &e.Data[0])
			if i < 0 {
				i = len(seen)
				seen = append(seen, &e.Data[0])
			}
			order = append(order, i)
			b.Commit(0, e)
		}
		for range events {
			if _, ok := b.Consume(0); !ok {
				t.Fatal("nothing to read")
			}
		}
		return order
	}
	for _, want := range []string{"[0 1 2 3 4]", "[0 1 2 5]", "[3 4 0]", "[1 2]"} {
		if got := fmt.Sprint(use(len(strings.Fields(want)))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWatermark(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticking()})
	hits := func() (list []int) {
		for _, percent := range []int{0, 25, 50, 75, 100} {
			if b.WatermarkHit(0, percent) {
				list = append(list, percent)
			}
		}
		return list
	}
	for i, want := range []string{"[]", "[0 25]", "[0 25 50]", "[0 25 50 75]", "[0 25 50 75 100]", "[0 25 50 75 100]"} {
		if got := fmt.Sprint(hits()); got != want {
			t.Errorf("after %d pages: %s, want %s", i, got, want)
		}
		numbered(t, b, 0, 14)
	}
}

// What was disabled twice is enabled by the second Enable, and tracing_on is a switch
// of its own.
func TestDisable(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Clock: ticking()})
	for _, step := range []struct {
		do            func()
		enabled, isOn bool
	}{
		{b.Disable, false, true},
		{b.Disable, false, true},
		{func() { b.SetRecording(false) }, false, false},
		{b.Enable, false, false},
		{func() { b.SetRecording(true) }, false, true},
		{b.Enable, true, true},
	} {
		step.do()
		e, err := b.Reserve(0, ringbuf.Normal, 4)
		if err == nil {
			b.Commit(0, e)
		}
		if (err == nil) != step.enabled || err != nil && !errors.Is(err, ringbuf.ErrDisabled) || b.Enabled() != step.enabled || b.Recording() != step.isOn {
			t.Errorf("Reserve: %v, Enabled %v, Recording %v; want %v and %v", err, b.Enabled(), b.Recording(), step.enabled, step.isOn)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("one Enable more than there were Disables")
		}
	}()
	b.Enable()
}

func TestClockAndSwitches(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 2, Clock: func(int) uint64 { return 5 }})
	b.SetCPURecording(1, false)
	if _, err := b.Reserve(1, ringbuf.Normal, 4); !errors.Is(err, ringbuf.ErrDisabled) || b.CPURecording(1) || !b.CPURecording(0) {
		t.Errorf("cpu 1 off: %v", err)
	}
	b.SetCPURecording(1, true)
	b.SetClock(func(cpu int) uint64 { return uint64(100 + cpu) })
	e, err := b.Reserve(1, ringbuf.Normal, 4)
	if err != nil || e.Time != 101 || !b.Recording() || b.CPUs() != 2 {
		t.Errorf("%v at %d", err, e.Time)
	}
	b.Commit(1, e)
	b.SetAbsoluteTime(true)
	e, err = b.Reserve(1, ringbuf.Normal, b.MaxEventSize())
	if err != nil || !b.AbsoluteTime() {
		t.Fatal(err)
	}
	b.Commit(1, e)
	if _, err = b.Reserve(1, ringbuf.Normal, b.MaxEventSize()+4); !errors.Is(err, ringbuf.ErrTooBig) {
		t.Errorf("too big: %v", err)
	}
}
