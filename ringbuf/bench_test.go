package ringbuf_test

import (
	"testing"

	"ftracelab/ringbuf"
)

const kernelDefault = 1408 << 10 // bytes per CPU once tracing is used

func newBench(tb testing.TB, size int, noOverwrite bool) (*ringbuf.Buffer, *uint64) {
	now := new(uint64)
	b, err := ringbuf.New(ringbuf.Config{
		CPUs: 1, Size: size, NoOverwrite: noOverwrite,
		Clock: func(int) uint64 { *now += 100; return *now },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return b, now
}

// floor is the least that a ring of pages can do: copy with a bound.
type floor struct {
	pages [][]byte
	page  int
	off   int
}

func newFloor() *floor {
	f := &floor{pages: make([][]byte, 352)}
	for i := range f.pages {
		f.pages[i] = make([]byte, 4096)
	}
	return f
}

//go:noinline
func (f *floor) write(data []byte) {
	if f.off+len(data) > len(f.pages[f.page]) {
		f.off = 0
		if f.page++; f.page == len(f.pages) {
			f.page = 0
		}
	}
	f.off += copy(f.pages[f.page][f.off:], data)
}

func BenchmarkWrite32(b *testing.B) {
	data := make([]byte, 32)
	b.Run("floor", func(b *testing.B) {
		f := newFloor()
		b.ReportAllocs()
		for b.Loop() {
			f.write(data)
		}
	})
	b.Run("ring", func(b *testing.B) {
		ring, _ := newBench(b, kernelDefault, false)
		b.ReportAllocs()
		for b.Loop() {
			e, err := ring.Reserve(0, ringbuf.Normal, len(data))
			if err != nil {
				b.Fatal(err)
			}
			copy(e.Data, data)
			ring.Commit(0, e)
		}
	})
}

// BenchmarkConsume is one event written and read.
func BenchmarkConsume(b *testing.B) {
	ring, _ := newBench(b, kernelDefault, false)
	data := make([]byte, 32)
	b.ReportAllocs()
	for b.Loop() {
		e, _ := ring.Reserve(0, ringbuf.Normal, len(data))
		copy(e.Data, data)
		ring.Commit(0, e)
		if _, ok := ring.Consume(0); !ok {
			b.Fatal("nothing to read")
		}
	}
}

// BenchmarkPageReader decodes a page of 113 events.
func BenchmarkPageReader(b *testing.B) {
	ring, _ := newBench(b, kernelDefault, false)
	for range 200 {
		e, _ := ring.Reserve(0, ringbuf.Normal, 32)
		clear(e.Data)
		ring.Commit(0, e)
	}
	image := make([]byte, 4096)
	if !ring.ReadPage(0, image, true) {
		b.Fatal("nothing to read")
	}
	var r ringbuf.PageReader
	var list []ringbuf.Entry
	for _, c := range []struct {
		name string
		next func() bool
	}{
		{"all", func() bool { _, ok := r.Next(); return ok }},
		{"data", func() bool { _, _, ok := r.NextData(); return ok }},
		{"page", func() bool { list = r.AppendData(list[:0], 0); return len(list) > 0 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(4096)
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Reset(image); err != nil {
					b.Fatal(err)
				}
				for c.next() {
				}
			}
		})
	}
}

func TestNoAllocations(t *testing.T) {
	ring, _ := newBench(t, kernelDefault, false)
	image := make([]byte, 4096)
	work := func() {
		for range 300 {
			e, err := ring.Reserve(0, ringbuf.Normal, 32)
			if err != nil {
				t.Fatal(err)
			}
			clear(e.Data)
			ring.Commit(0, e)
		}
		ring.Consume(0)
		for ring.ReadPage(0, image, false) {
		}
	}
	work() // takes the pages that are used from now on
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
