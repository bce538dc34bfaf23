package event_test

import (
	"fmt"
	"testing"

	"ftracelab/tracer/event"
)

// benchmarkType gives a type of the captured kernel.
func benchmarkType(tb testing.TB, system, name string) *event.Type {
	tb.Helper()
	for _, f := range splitFormats(tb, readFile(tb, "testdata/formats.txt")) {
		if f.system == system && f.name == name {
			typ, err := event.ParseFormat(system, f.text)
			if err != nil {
				tb.Fatal(err)
			}
			return typ
		}
	}
	tb.Fatalf("no format of %s/%s", system, name)
	return nil
}

func switchRecord() []byte {
	data := make([]byte, 64)
	copy(data[8:], "swapper/1")
	data[28] = 120
	copy(data[40:], "trace-cmd")
	data[56], data[57], data[60] = 0x39, 0x05, 120
	return data
}

func allocRecord() []byte {
	data := make([]byte, 64)
	copy(data[8:], "\x10\x20\x30\x81\xff\xff\xff\xff")
	copy(data[16:], "\x00\xa0\x12\x05\x80\x88\xff\xff")
	data[24], data[32] = 200, 208
	data[40], data[41] = 0xc0, 0x0c // GFP_KERNEL
	copy(data[48:], "\xff\xff\xff\xff")
	return data
}

func BenchmarkAppendText(b *testing.B) {
	for _, bb := range []struct {
		system, name string
		data         []byte
	}{{"sched", "sched_switch", switchRecord()}, {"kmem", "kmem_cache_alloc", allocRecord()}} {
		b.Run(bb.name, func(b *testing.B) {
			typ := benchmarkType(b, bb.system, bb.name)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = typ.AppendText(buf[:0], bb.data, nil)
			}
		})
	}
}

// BenchmarkFmtAppendf is the same text by package fmt, from values at hand.
func BenchmarkFmtAppendf(b *testing.B) {
	var buf []byte
	b.Run("sched_switch", func(b *testing.B) {
		b.ReportAllocs()
		prev, next, pid := "swapper/1", "trace-cmd", 1337
		for b.Loop() {
			buf = fmt.Appendf(buf[:0], "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d",
				prev, 0, 120, "R", "", next, pid, 120)
		}
	})
	b.Run("kmem_cache_alloc", func(b *testing.B) {
		b.ReportAllocs()
		site, ptr := uint64(0xffffffff81302010), uint64(0xffff88800512a000)
		for b.Loop() {
			buf = fmt.Appendf(buf[:0], "call_site=0x%x ptr=%016x bytes_req=%d bytes_alloc=%d gfp_flags=%s node=%d accounted=%s",
				site, ptr, 200, 208, "GFP_KERNEL", -1, "false")
		}
	})
}

func TestAppendTextDoesNotAllocate(t *testing.T) {
	typ := benchmarkType(t, "sched", "sched_switch")
	data, buf := switchRecord(), make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buf = typ.AppendText(buf[:0], data, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	const want = "prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=trace-cmd next_pid=1337 next_prio=120"
	if string(buf) != want {
		t.Errorf("got %q, want %q", buf, want)
	}
}

func BenchmarkAppend(b *testing.B) {
	d := event.Define[mixed](900, "test", "mixed", `""`)
	v := mixed{D: "text", E: []uint64{1, 2}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = d.Append(buf[:0], event.Common{}, &v)
	}
}
