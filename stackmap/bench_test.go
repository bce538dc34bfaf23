package stackmap

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
)

// BenchmarkHit offers 3000 known stacks of 16 frames in turn: what an event
// costs once the workload has shown its stacks. The rows to compare with are a
// Go map behind a mutex, keyed by the bytes of the stack, and the copy of a
// whole stack into a buffer, which is what the map saves.
func BenchmarkHit(b *testing.B) {
	const uniques, depth = 3000, 16
	stacks := make([][]uint64, uniques)
	for i := range stacks {
		stacks[i] = stackOf(i, depth)
	}
	for _, hash := range Hashes() {
		b.Run(fmt.Sprintf("stackmap/%v", hash), func(b *testing.B) {
			m := newMap(b, Config{Preset: "v4", SaturateRefs: true, Hash: hash})
			for _, ips := range stacks {
				m.GetID(0, ips)
			}
			b.ReportAllocs()
			var i int
			for b.Loop() {
				if _, err := m.GetID(0, stacks[i]); err != nil {
					b.Fatal(err)
				}
				if i++; i == uniques {
					i = 0
				}
			}
		})
	}
	b.Run("map+mutex", func(b *testing.B) {
		var mu sync.Mutex
		ids := map[string]*[2]uint64{}
		key := make([]byte, 0, 8*depth)
		offer := func(ips []uint64) {
			key = key[:0]
			for _, ip := range ips {
				key = binary.LittleEndian.AppendUint64(key, ip)
			}
			mu.Lock()
			if e := ids[string(key)]; e != nil {
				e[1]++
			} else {
				ids[string(key)] = &[2]uint64{uint64(len(ids)), 1}
			}
			mu.Unlock()
		}
		b.ReportAllocs()
		var i int
		for b.Loop() {
			offer(stacks[i])
			if i++; i == uniques {
				i = 0
			}
		}
	})
	b.Run("copy", func(b *testing.B) {
		ring := make([]uint64, 512)
		var i, at int
		b.ReportAllocs()
		for b.Loop() {
			at += copy(ring[at:], stacks[i])
			if at > len(ring)-depth {
				at = 0
			}
			if i++; i == uniques {
				i = 0
			}
		}
	})
}

// BenchmarkParallelHit is the same from all processors at once.
func BenchmarkParallelHit(b *testing.B) {
	const uniques, depth = 3000, 16
	m := newMap(b, V4())
	for i := range uniques {
		m.GetID(0, stackOf(i, depth))
	}
	var mu sync.Mutex
	cpu := 0
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		self := cpu
		cpu++
		mu.Unlock()
		stacks := make([][]uint64, uniques)
		for i := range stacks {
			stacks[i] = stackOf(i, depth)
		}
		i := self * 700 % uniques
		for pb.Next() {
			m.GetID(self, stacks[i])
			if i++; i == uniques {
				i = 0
			}
		}
	})
}

// BenchmarkInsert stores stacks that are new.
func BenchmarkInsert(b *testing.B) {
	m := newMap(b, Config{Bits: MaxBits})
	ips := stackOf(0, 16)
	b.ReportAllocs()
	for b.Loop() {
		ips[0]++
		if _, err := m.GetID(0, ips); err != nil {
			b.StopTimer()
			m.Reset(nil)
			b.StartTimer()
		}
	}
}
