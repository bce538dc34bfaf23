package tracingmap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// newTestMap is a map with a key of whole words, which are not ordered.
func newTestMap(bits, keySize, sums, vars, texts int) *Map {
	return New(bits, keySize, append(make([]Field, sums), Field{Compare: Unordered}), vars, texts)
}

// The map does what a plain Go map with a limit would.
func TestMapAgainstModel(t *testing.T) {
	type entry struct{ hits, sum uint64 }
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.IntRange(1, 4).Draw(t, "words")
		m := newTestMap(MinBits, 8*words, 2, 0, 0)
		model := map[string]entry{}
		var hits, drops uint64
		key := make([]byte, 8*words)
		for range rapid.IntRange(0, 600).Draw(t, "insertions") {
			// Few enough keys that some come again, enough that the map can be full.
			for i := range words {
				binary.LittleEndian.PutUint64(key[8*i:], rapid.Uint64Range(0, 300).Draw(t, "word"))
			}
			n := rapid.Uint64().Draw(t, "n")
			old, there := model[string(key)]
			e, made := m.Insert(key)
			switch {
			case !there && len(model) == 1<<MinBits:
				drops++
				if e != nil {
					t.Fatalf("the full map gave an element for a new key")
				}
				continue
			case e == nil || made == there:
				t.Fatalf("Insert gave %v, %v for a key that is there: %v", e, made, there)
			}
			hits++
			e.Sums[0]++
			e.Sums[1] += n
			model[string(key)] = entry{old.hits + 1, old.sum + n}
			if rapid.IntRange(0, 200).Draw(t, "clear") == 0 {
				m.Clear()
				clear(model)
				hits, drops = 0, 0
			}
		}
		if m.Hits() != hits || m.Drops() != drops || m.Len() != len(model) {
			t.Fatalf("%d hits, %d drops, %d elements, want %d, %d, %d", m.Hits(), m.Drops(), m.Len(), hits, drops, len(model))
		}
		at := 0
		for s := range m.Slots() {
			if at++; m.Lookup(s.Element.Key) != s.Element || m.slots[s.Number].element != s.Element || (s.Number-s.Home+len(m.slots))%len(m.slots) >= len(model) {
				t.Fatalf("slot %+v", s)
			}
		}
		if at != len(model) {
			t.Fatalf("%d slots for %d keys", at, len(model))
		}
		for k, want := range model {
			if e := m.Lookup([]byte(k)); e == nil || e.Sums[0] != want.hits || e.Sums[1] != want.sum {
				t.Fatalf("key %x: %v, want %v", k, e, want)
			}
		}
		if e := m.Lookup(bytes.Repeat([]byte{0xff}, len(key))); e != nil {
			t.Fatalf("a key nobody inserted has %v", e)
		}
		got := m.Sorted([]SortKey{{Field: 0}, {Field: 1, Descending: true}})
		if len(got) != len(model) || !slices.IsSortedFunc(got, func(a, b *Element) int {
			return cmp.Or(cmp.Compare(a.Sums[0], b.Sums[0]), cmp.Compare(b.Sums[1], a.Sums[1]))
		}) {
			t.Fatalf("%d elements of %d, or they are not in order", len(got), len(model))
		}
	})
}

// What was there before Clear does not show after it.
func TestMapClear(t *testing.T) {
	m := newTestMap(MinBits, 8, 1, 1, 1)
	key := make([]byte, 8)
	e, _ := m.Insert(key)
	e.AddSum(0, 7)
	e.SetVar(0, Value{N: 3, B: e.Text(0)[:copy(e.Text(0), "words")]})
	e.Comm = "sh"
	m.Clear()
	if m.Lookup(key) != nil || m.Len() != 0 || m.Hits() != 0 {
		t.Error("the map is not empty after Clear")
	}
	if e, _ := m.Insert(key); e.Sums[0] != 0 || e.Set[0] || e.Vars[0].B != nil || e.Comm != "" {
		t.Errorf("an element after Clear is %+v", e)
	}
}

// Vectors that lookup3's author published.
func TestJhash(t *testing.T) {
	for key, want := range map[string]uint32{
		"":                               0xdeadbeef,
		"Four score and seven years ago": 0x17770551,
	} {
		if got := jhash([]byte(key)); got != want {
			t.Errorf("jhash(%q) is %#x, want %#x", key, got, want)
		}
	}
}

func BenchmarkInsert(b *testing.B) {
	const keys = 1000
	key := func(n int, k []byte) []byte {
		binary.LittleEndian.PutUint64(k, uint64(n%keys)*0x9e3779b97f4a7c15)
		return k
	}
	for _, size := range []int{8, 24, 128} {
		b.Run(fmt.Sprintf("map/%dB", size), func(b *testing.B) {
			m, k := newTestMap(DefaultBits, size, 2, 0, 0), make([]byte, size)
			for n := range keys {
				m.Insert(key(n, k))
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				e, _ := m.Insert(key(n, k))
				e.Sums[0]++
				n++
			}
		})
		b.Run(fmt.Sprintf("gomap/%dB", size), func(b *testing.B) {
			m, k := map[string]*Element{}, make([]byte, size)
			for n := range keys {
				m[string(key(n, k))] = &Element{Sums: make([]uint64, 2)}
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				m[string(key(n, k))].Sums[0]++
				n++
			}
		})
	}
}
