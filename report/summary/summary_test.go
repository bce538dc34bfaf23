package summary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ftracelab/budget"
)

// drawn is a summary of one machine, with few different names, hashes and sizes so that
// those of several machines meet.
func drawn(t *rapid.T) *Summary {
	m := Machine{Name: rapid.SampledFrom([]string{"", "web1", "web2", strings.Repeat("x", MaxName)}).Draw(t, "name")}
	s := new(Summary)
	for hash := range rapid.MapOf(rapid.Custom(func(t *rapid.T) uint64 {
		return rapid.Uint64Range(0, 60).Draw(t, "hash") * 0x9e3779b97f4a7c15
	}), rapid.Bool()).Draw(t, "stacks") {
		st := Stack{hash, rapid.Uint64Range(0, 9).Draw(t, "depth"), rapid.Uint64Range(1, 5).Draw(t, "count")}
		m.KernelStacks += st.Count
		m.UniqueStacks++
		s.Stacks = append(s.Stacks, st)
	}
	for _, n := range rapid.SliceOfNDistinct(rapid.Uint64Range(3, 9), 0, 4, rapid.ID).Draw(t, "sizes") {
		size := Size{4 * n, rapid.Uint64Range(1, 9).Draw(t, "events")}
		m.Events += size.Events
		s.Sizes = append(s.Sizes, size)
	}
	m.Micros = rapid.Uint64Range(0, MaxCount).Draw(t, "micros")
	if m.Events > 0 {
		skip := rapid.IntRange(0, 2).Draw(t, "cpu")
		s.CPUs = append(make([]CPU, skip), CPU{1, m.Events, m.Micros})
		m.CPUs, m.BusiestEvents = 1, m.Events
	}
	m.Bits = rapid.SampledFrom([]uint64{0, 10, 18}).Draw(t, "bits")
	m.Maps[3] = Map{Bytes: rapid.Uint64Range(0, MaxCount).Draw(t, "bytes")}
	s.Machines = []Machine{m}
	s.Sort()
	return s
}

func encoded(t interface{ Fatal(...any) }, s *Summary) []byte {
	var b bytes.Buffer
	if err := Encode(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// added adds files, each of which is written and read again on the way.
func added(t interface{ Fatal(...any) }, limit int, files ...[]byte) []byte {
	m := NewMerger(nil)
	m.limit = limit
	for _, f := range files {
		if err := m.Read(bytes.NewReader(f)); err != nil {
			t.Fatal(err)
		}
	}
	return encoded(t, m.Sum())
}

// What is read is what was written.
func TestDecodeEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawn(t)
		got, err := Decode(bytes.NewReader(encoded(t, want)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want.Machines, got.Machines); diff != "" {
			t.Error(diff)
		}
	})
}

// The bytes of a sum depend neither on the order of its parts nor on their grouping,
// also if there are more different stacks than are kept.
func TestMergeOrderAndGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 4, 16, MaxStacks}).Draw(t, "limit")
		var parts [][]byte
		for range rapid.IntRange(1, 6).Draw(t, "machines") {
			parts = append(parts, added(t, limit, encoded(t, drawn(t))))
		}
		want := added(t, limit, parts...)
		for len(parts) > 1 { // two of them in any order become one
			parts = rapid.Permutation(parts).Draw(t, "order")
			parts = append(parts[2:], added(t, limit, parts[0], parts[1]))
		}
		if !bytes.Equal(parts[0], want) {
			t.Error("the sum depends on the order or the grouping")
		}
	})
}

// A sum has what its parts had, and a sample has the exact counts of its stacks.
func TestMergeCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{3, MaxStacks}).Draw(t, "limit")
		m := NewMerger(nil)
		m.limit = limit
		stacks, sizes, events := map[uint64]uint64{}, map[uint64]uint64{}, uint64(0)
		for range rapid.IntRange(1, 5).Draw(t, "machines") {
			s := drawn(t)
			for _, st := range s.Stacks {
				stacks[st.Hash] += st.Count
			}
			for _, size := range s.Sizes {
				sizes[size.Bytes] += size.Events
			}
			events += s.Machines[0].Events
			if err := m.Add(s); err != nil {
				t.Fatal(err)
			}
		}
		s := m.Sum()
		if len(s.Stacks) > limit || s.Level == 0 && len(s.Stacks) != len(stacks) {
			t.Errorf("%d of %d stacks at level %d", len(s.Stacks), len(stacks), s.Level)
		}
		for _, st := range s.Stacks {
			if st.Count != stacks[st.Hash] {
				t.Errorf("stack %x: %d, not %d", st.Hash, st.Count, stacks[st.Hash])
			}
		}
		for _, size := range s.Sizes {
			if size.Events != sizes[size.Bytes] {
				t.Errorf("%d bytes: %d events, not %d", size.Bytes, size.Events, sizes[size.Bytes])
			}
		}
		if got := s.totals().events; got != events {
			t.Errorf("%d events, not %d", got, events)
		}
	})
}

// small is a file with something in every list.
func small(t *testing.T) []byte {
	return encoded(t, &Summary{
		Machines: []Machine{{Name: "web1", Events: 12, BusiestEvents: 12, CPUs: 1, KernelStacks: 7, UniqueStacks: 2, Bits: 10}},
		CPUs:     []CPU{{1, 12, 0}},
		Sizes:    []Size{{16, 5}, {44, 7}},
		Stacks:   []Stack{{5, 3, 4}, {1 << 63, 9, 3}},
	})
}

// A file that was cut or changed anywhere is refused, and the Merger is as before.
func TestDamage(t *testing.T) {
	whole := small(t)
	m := NewMerger(nil)
	refused := func(what string, b []byte) {
		t.Helper()
		var bad *Error
		if err := m.Read(bytes.NewReader(b)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range whole {
		refused(fmt.Sprintf("cut at %d", n), whole[:n])
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[n] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, n), b)
		}
	}
	refused("more", append(bytes.Clone(whole), 0))
	if err := m.Read(bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, m.Sum()), whole) {
		t.Error("a refused file has left something")
	}
}

// sealed puts a right checksum behind wrong content.
func sealed(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b))
}

// What a right checksum does not help.
func TestRefused(t *testing.T) {
	change := func(f func(*Summary)) []byte {
		s, err := Decode(bytes.NewReader(small(t)), nil)
		if err != nil {
			t.Fatal(err)
		}
		f(s)
		return encoded(t, s)
	}
	for want, b := range map[string][]byte{
		"not a summary":                   []byte("# tracer: function\n"),
		"the file ends too early":         nil,
		"version 2 of the format":         sealed([]byte("FTLS\x02\x00\x00\x00\x00\x00")),
		"1048577 machines":                sealed(binary.AppendUvarint([]byte("FTLS\x01"), MaxMachines+1)),
		"not in its shortest form":        sealed([]byte("FTLS\x01\x80\x00\x00\x00\x00\x00")),
		"a figure that no capture":        change(func(s *Summary) { s.Machines[0].EventBytes = MaxCount + 1 }),
		"too many CPUs":                   change(func(s *Summary) { s.Machines[0].CPUs = MaxCPUs + 1 }),
		"contradict each other":           change(func(s *Summary) { s.Machines[0].UniqueStacks = 8 }),
		"a name of 49 bytes":              change(func(s *Summary) { s.Machines[0].Name = strings.Repeat("n", 49) }),
		"the machines are not in order":   change(func(s *Summary) { s.Machines = append(s.Machines, Machine{Name: "a"}) }),
		"more than all machines together": change(func(s *Summary) { s.CPUs[0].Events = 13 }),
		"fewer events than the machines":  change(func(s *Summary) { s.CPUs[0].Events = 11 }),
		"no machine has the last CPU":     change(func(s *Summary) { s.CPUs = append(s.CPUs, CPU{}) }),
		"a size of records that cannot":   change(func(s *Summary) { s.Sizes[1].Events = 8 }),
		"fewer sizes of records":          change(func(s *Summary) { s.Sizes[1].Events = 6 }),
		"a stack that cannot be":          change(func(s *Summary) { s.Stacks[1].Count = 4 }),
		"a sample of level 65":            change(func(s *Summary) { s.Level = 65 }),
	} {
		var bad *Error
		if _, err := Decode(bytes.NewReader(b), nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Decode(bytes.NewReader(change(func(s *Summary) { s.Level = 1 })), nil); err == nil {
		t.Error("a stack outside of the sample was read")
	}
}

// Of more machines than the memory is enough for, an error says how much is needed; and
// what was taken for files is given back.
func TestMemory(t *testing.T) {
	const machines = 1 << 16
	big := encoded(t, &Summary{Machines: make([]Machine, machines)})
	m := NewMerger(budget.New(256 << 20))
	for n := range 4 {
		err := m.Read(bytes.NewReader(big))
		var short *budget.Error
		switch {
		case n < 3 && err != nil:
			t.Fatal(err)
		case n == 3 && (!errors.As(err, &short) || short.Needed() <= 256<<20):
			t.Errorf("%v", err)
		}
	}
	none := NewMerger(budget.New(1 << 30))
	none.machines = make([]Machine, MaxMachines)
	if err := none.Add(&Summary{Machines: make([]Machine, 1)}); err == nil {
		t.Error("there are more machines than the limit")
	}
}

// FuzzDecode: no file makes the decoder panic or take much memory, and there is only
// one file for a content.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("FTLS\x01\x00\x00\x00\x00\x00"))
	f.Add([]byte("FTLS\x02"))
	f.Add([]byte{})
	var b bytes.Buffer
	if err := Encode(&b, &Summary{
		Machines: []Machine{{Name: "a", Events: 3, BusiestEvents: 2, CPUs: 2, KernelStacks: 3, UniqueStacks: 1, Bits: 11}, {Name: "b"}},
		CPUs:     []CPU{{1, 2, 0}, {1, 1, 0}}, Sizes: []Size{{20, 3}}, Level: 2, Stacks: []Stack{{77, 4, 3}},
	}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes()[:b.Len()-8])
	f.Fuzz(func(t *testing.T, body []byte) {
		file := sealed(bytes.Clone(body)) // a fuzzer does not find checksums
		s, err := Decode(bytes.NewReader(file), budget.New(budget.Least))
		if err != nil {
			return
		}
		if !bytes.Equal(encoded(t, s), file) {
			t.Error("the same content has another file")
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	s := &Summary{Machines: []Machine{{Name: "web", KernelStacks: 3000, UniqueStacks: 3000}}}
	for n := range uint64(3000) {
		s.Stacks = append(s.Stacks, Stack{n * 0x9e3779b97f4a7c15, 16, 1})
	}
	s.Sort()
	file := encoded(b, s)
	b.SetBytes(int64(len(file)))
	m := NewMerger(budget.New(1 << 40))
	for b.Loop() {
		if len(m.machines) == MaxMachines {
			m = NewMerger(budget.New(1 << 40))
		}
		if err := m.Read(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}
