package tracer_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/machine"
	"ftracelab/stackmap"
	"ftracelab/tracer"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
)

// resolved runs a machine whose events record stacks and gives what it traced, with the
// ids of stacks replaced by the stacks. A stack is cut to so many addresses.
func resolved(t *testing.T, cfg tracer.Config, on bool, most int) []string {
	l := newLab(t, cfg)
	l.write("options/stacktrace", "1")
	l.write("set_event", "sched:* irq:* kmem:kmem_cache_alloc")
	if on {
		l.write("options/stackmap", "1")
	}
	l.ft.Run(20 * machine.Millisecond)
	var trace []string
	for _, r := range l.records() {
		switch int(event.ParseCommon(r.data).Type) {
		case events.StackID.ID:
			id := uint32(r.data[8]) | uint32(r.data[9])<<8 | uint32(r.data[10])<<16 | uint32(r.data[11])<<24
			ips, ok := l.ft.Interner().Stack(id, nil)
			if !ok {
				t.Fatalf("the id %d stands for nothing", id)
			}
			trace = append(trace, fmt.Sprint(r.cpu, r.time, ips))
		case events.KernelStack.ID:
			var ips []uint64
			for at := 16; at < 16+8*int(r.data[8]); at += 8 {
				var ip uint64
				for i := range 8 {
					ip |= uint64(r.data[at+i]) << (8 * i)
				}
				ips = append(ips, ip)
			}
			trace = append(trace, fmt.Sprint(r.cpu, r.time, ips[:min(len(ips), most)]))
		default:
			trace = append(trace, fmt.Sprint(r.cpu, r.time, bytes.Clone(r.data)))
		}
	}
	return trace
}

// TestAnyMapSameTrace: the same seed gives the same trace, whatever map a kernel has,
// once its ids are resolved; that is the theorem of the waist on the machine.
func TestAnyMapSameTrace(t *testing.T) {
	const most = 3 // so that a map which cuts has something to cut
	full := resolved(t, tracer.Config{NoStackmap: true}, false, 1<<10)
	cut := resolved(t, tracer.Config{NoStackmap: true}, false, most)
	if len(full) < 200 {
		t.Fatalf("only %d records", len(full))
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := record.MapConfig{
			Config: stackmap.Config{
				Bits: rapid.IntRange(10, 14).Draw(rt, "bits"), Seed: rapid.Uint32().Draw(rt, "seed"),
				Hash:     rapid.SampledFrom(stackmap.Hashes()).Draw(rt, "hash"),
				Probes:   rapid.IntRange(1, 64).Draw(rt, "probes"),
				MaxDepth: rapid.SampledFrom([]int{most, 8, 64}).Draw(rt, "depth"),
				Preset:   rapid.SampledFrom([]string{"", "v2", "mine"}).Draw(rt, "preset"), SaturateRefs: rapid.Bool().Draw(rt, "saturate"),
				ABI: rapid.SampledFrom([]stackmap.ABI{{}, stackmap.ABIv2, stackmap.ABIv4}).Draw(rt, "abi"),
			},
			Policy: record.Policy{
				ReserveFirst: rapid.Bool().Draw(rt, "reserve first"), TopLevelOnly: rapid.Bool().Draw(rt, "top"),
				ClearBufferOnReset: rapid.Bool().Draw(rt, "clear"),
				FunctionStacks:     rapid.Bool().Draw(rt, "function"), KeepBufferOnNop: rapid.Bool().Draw(rt, "keep"),
			},
		}
		// Of the maps of other designs, those that keep what they have.
		of := rapid.SampledFrom([]string{"stackmap", "strict", "insertion-order", "robin-hood", "two-way", "per-cpu", "bpf"}).Draw(rt, "map")
		d, err := record.NamedDesign(of, 0, 0)
		if err != nil {
			rt.Fatal(err)
		}
		c.New, c.Pool = d.KernelMap.New, rapid.SampledFrom([]stackmap.Pool{stackmap.EagerPool, stackmap.LazyPool, stackmap.PackedPool}).Draw(rt, "pool")
		want := full
		if c.TruncateDeep = c.MaxDepth == most; c.TruncateDeep {
			want = cut
		}
		got := resolved(t, tracer.Config{Stackmap: c}, true, map[bool]int{true: most, false: 1 << 10}[c.TruncateDeep])
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				rt.Fatalf("record %d of %d differs:\n%.300s\nwant\n%.300s", i, len(want), at(got, i), want[i])
			}
		}
		if len(got) != len(want) {
			rt.Fatalf("%d records, want %d", len(got), len(want))
		}
	})
}

func at(lines []string, i int) string {
	if i >= len(lines) {
		return "nothing"
	}
	return lines[i]
}

// TestStackmapIsTheOneAskedFor: what a kernel is given as its map is not taken for
// nothing because it has no name.
func TestStackmapIsTheOneAskedFor(t *testing.T) {
	asked := stackmap.Config{Bits: 12, Hash: stackmap.XXHash64, Probes: 8}
	got := newLab(t, tracer.Config{Stackmap: record.MapConfig{Config: asked}}).ft.Stackmap().Config()
	if got.Bits != 12 || got.Hash != stackmap.XXHash64 || got.Probes != 8 {
		t.Errorf("the kernel has %+v", got)
	}
	if got := newLab(t, tracer.Config{}).ft.Stackmap().Config(); got.Preset != "documented" {
		t.Errorf("without one asked for it has %+v", got)
	}
}
