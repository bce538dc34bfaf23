package record_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/capture"
	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
)

// inOrder is an Interner whose ids are the order in which stacks came, and no slots.
type inOrder struct {
	mu     sync.Mutex
	room   int
	ids    map[string]uint32
	stacks [][]uint64
}

func newInOrder(room int) *inOrder { return &inOrder{room: room, ids: map[string]uint32{}} }

func key(ips []uint64) string {
	b := make([]byte, 0, 8*len(ips))
	for _, ip := range ips {
		for i := range 8 {
			b = append(b, byte(ip>>(8*i)))
		}
	}
	return string(b)
}

func (m *inOrder) Intern(_ int, ips []uint64) (uint32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id, ok := m.ids[key(ips)]; ok {
		return id, nil
	}
	if len(m.stacks) == m.room {
		return 0, record.ErrNoSpace
	}
	id := uint32(len(m.stacks)) + 1
	m.ids[key(ips)] = id
	m.stacks = append(m.stacks, slices.Clone(ips))
	return id, nil
}

func (m *inOrder) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id == 0 || int(id) > len(m.stacks) {
		return dst, false
	}
	return append(dst, m.stacks[id-1]...), true
}

func (m *inOrder) Cost() record.Cost {
	return record.Cost{Entries: uint64(len(m.stacks)), Capacity: uint64(m.room)}
}

func TestOpenNothing(t *testing.T) {
	broken := errors.New("no memory")
	for _, c := range []struct {
		new  func(record.MapConfig) (record.Interner, error)
		want error
	}{
		{func(record.MapConfig) (record.Interner, error) { return nil, broken }, broken},
		{func(record.MapConfig) (record.Interner, error) { return nil, nil }, nil},
	} {
		d := record.Design{Name: "mine", Kernel: record.StackID, KernelMap: record.MapConfig{New: c.new}}
		if _, err := record.NewStacks(d, record.CatalogueIDs()); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

// step is an event with its stacks, as they went in.
type step struct {
	data         []byte
	kernel, user []uint64
}

// drawTrace draws a trace whose stacks repeat.
func drawTrace(t *rapid.T) []step {
	n := rapid.IntRange(1, 300).Draw(t, "events")
	unique := rapid.IntRange(1, 1500).Draw(t, "unique")
	deepest := rapid.IntRange(1, 100).Draw(t, "deepest")
	seed := rapid.Uint64().Draw(t, "seed")
	stack := func(kind, i uint64) []uint64 {
		x := (seed + kind) * 0x9e3779b97f4a7c15
		which := (x ^ i*0xbf58476d1ce4e5b9) >> 17 % uint64(unique)
		ips := make([]uint64, 1+which%uint64(deepest))
		for d := range ips {
			ips[d] = kind<<56 + which<<16 + uint64(d)
		}
		return ips
	}
	var steps []step
	for i := range uint64(n) {
		data := events.Function.Append(nil, event.Common{PID: int32(i % 5)}, &events.FunctionRecord{IP: i, ParentIP: seed})
		steps = append(steps, step{data, stack(0xff, i), stack(0, i)})
	}
	return steps
}

// drawMap draws a configuration in all of its fields.
func drawMap(t *rapid.T, name string) record.MapConfig {
	bit := func(what string) bool { return rapid.Bool().Draw(t, name+" "+what) }
	c := record.MapConfig{
		Config: stackmap.Config{
			Preset: rapid.SampledFrom([]string{"", "v2", "v4", "mine"}).Draw(t, name+" preset"),
			Pool:   rapid.SampledFrom([]stackmap.Pool{stackmap.EagerPool, stackmap.LazyPool, stackmap.PackedPool}).Draw(t, name+" pool"),
			Bits:   rapid.IntRange(10, 12).Draw(t, name+" bits"),
			Seed:   rapid.Uint32().Draw(t, name+" seed"),
			Hash:   rapid.SampledFrom(stackmap.Hashes).Draw(t, name+" hash"),
			Probes: rapid.IntRange(0, 64).Draw(t, name+" probes"), MaxDepth: rapid.IntRange(0, 120).Draw(t, name+" depth"),
			TruncateDeep: bit("truncate"), SaturateRefs: bit("saturate"),
			ABI: rapid.SampledFrom([]stackmap.ABI{{}, stackmap.ABIv2, stackmap.ABIv4}).Draw(t, name+" abi"),
		},
		Policy: record.Policy{
			ReserveFirst: bit("reserve first"), ClearBufferOnReset: bit("clear"), TopLevelOnly: bit("top"),
			FunctionStacks: bit("function"), KeepBufferOnNop: bit("keep"),
		},
	}
	switch of := rapid.SampledFrom(append(mapped(), "mine")).Draw(t, name+" of design"); of {
	case "mine":
		room := rapid.IntRange(0, 500).Draw(t, name+" room")
		c.New = func(record.MapConfig) (record.Interner, error) { return newInOrder(room), nil }
	default:
		d, err := record.NamedDesign(of, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.New = d.KernelMap.New
	}
	return c
}

// mapped are the names of the designs with a map.
func mapped() (names []string) {
	for _, name := range record.DesignNames() {
		if d, _ := record.NamedDesign(name, 0, 0); d.Kernel == record.StackID {
			names = append(names, name)
		}
	}
	return names
}

// TestAnyVariantSameTrace is the theorem of the waist: whatever the variant, what was
// recorded is the same trace once its ids are resolved. A map that truncates gives the
// innermost addresses of a stack that it cut. A map that forgets stacks says how many ids
// it has lost, and all others are right.
func TestAnyVariantSameTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { writeAndResolve(t, drawTrace(t)) })
}

// TestAnyVariantSameCapture is the same of what a real kernel recorded: any part of the
// capture that comes with the program.
func TestAnyVariantSameCapture(t *testing.T) {
	c, err := capture.OpenExample(capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all []step
	var r record.Record
	for err = c.Next(&r); err == nil; err = c.Next(&r) {
		switch {
		case r.Kind == record.Event:
			all = append(all, step{data: bytes.Clone(r.Data)})
		case r.Kind == record.KernelStack && len(all) > 0:
			all[len(all)-1].kernel = slices.Clone(r.Stack)
		}
	}
	if err != io.EOF || len(all) < 10_000 {
		t.Fatalf("%d events, then %v", len(all), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(0, len(all)-1).Draw(t, "first")
		n := rapid.IntRange(1, 2000).Draw(t, "events")
		writeAndResolve(t, all[first:min(first+n, len(all))])
	})
}

// writeAndResolve writes a trace as a drawn design does, reads it, and holds it against
// what went in.
func writeAndResolve(t *rapid.T, steps []step) {
	d := record.Design{
		Name:   "drawn",
		Kernel: rapid.SampledFrom([]record.StackMode{record.FullStack, record.StackID}).Draw(t, "kernel"), KernelMap: drawMap(t, "kernel map"),
		User: record.StackID, UserMap: drawMap(t, "user map"),
	}
	if rapid.Bool().Draw(t, "aligned ring") {
		d.Ring = func(c ringbuf.Config) (record.Ring, error) {
			b, err := ringbuf.New(c)
			return aligned{b}, err
		}
	}
	stacks, err := record.NewStacks(d, record.CatalogueIDs())
	if err != nil {
		t.Fatal(err)
	}
	now := uint64(0)
	ring, err := d.NewRing(ringbuf.Config{CPUs: 1, Size: 4 << 20, Clock: func(int) uint64 { now += 1000; return now }})
	if err != nil {
		t.Fatal(err)
	}
	r := record.NewRecorderOf(rapid.IntRange(0, 4095).Draw(t, "cpu"), ring, stacks)
	for _, s := range steps {
		err := r.Event(0, ringbuf.Normal, s.data)
		_, kerr := r.WriteKernelStack(0, ringbuf.Normal, &record.Stack{IPs: s.kernel})
		_, uerr := r.WriteUserStack(0, ringbuf.Normal, &record.Stack{IPs: s.user})
		if err := errors.Join(err, kerr, uerr); err != nil {
			t.Fatal(err)
		}
	}
	check(t, ring, stacks, &d, steps)
}

// aligned is a ring that reserves more than it is asked for.
type aligned struct{ *ringbuf.Buffer }

func (r aligned) Reserve(cpu int, ctx ringbuf.Context, size int) (ringbuf.Event, error) {
	return r.Buffer.Reserve(cpu, ctx, (size+4+7)/8*8-4)
}

// check reads the buffer and holds it against what went in.
func check(t *rapid.T, ring record.Ring, stacks *record.Stacks, d *record.Design, steps []step) {
	const words = event.CommonSize + 8 // where the addresses of a stack begin
	ids := stacks.IDs
	page := make([]byte, 4096)
	seen := 0 // records of steps: event, kernel stack, user stack, event, …
	kernelLost, userLost := lost(stacks.KernelMap()), lost(stacks.UserMap())
	for ring.ReadPage(0, page, false) {
		p, err := ringbuf.ReadPageImage(page)
		if err != nil {
			t.Fatal(err)
		}
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			if !e.IsData() {
				continue
			}
			if seen/3 == len(steps) {
				t.Fatal("there are more records than went in")
			}
			s := &steps[seen/3]
			switch seen++; seen % 3 {
			case 1:
				if !bytes.HasPrefix(e.Data, s.data) || len(e.Data) > len(s.data)+7 {
					t.Fatalf("event %d: % x, want % x", seen/3, e.Data, s.data)
				}
				continue
			case 2:
				resolve(t, e.Data, s.kernel, ids.KernelStack, ids.StackID, words, len(s.kernel), stacks.KernelMap(), &d.KernelMap, &kernelLost)
			case 0:
				resolve(t, e.Data, s.user, ids.UserStack, ids.UserStackID, words, 8, stacks.UserMap(), &d.UserMap, &userLost)
			}
		}
	}
	if seen != 3*len(steps) {
		t.Fatalf("%d records of %d", seen, 3*len(steps))
	}
	if kernelLost != 0 || userLost != 0 {
		t.Fatalf("%d ids of kernel stacks and %d of user stacks are said to be lost and are not", kernelLost, userLost)
	}
}

// lost is how many ids m says that it has lost.
func lost(m record.Interner) uint64 {
	if m, ok := m.(record.Faulty); ok {
		return m.Faults().Lost
	}
	return 0
}

// resolve reads a stack's record, in full or as an id. In full it holds at most so many
// of the addresses. An id may be one of those that the map has lost.
func resolve(t *rapid.T, data []byte, want []uint64, full, id uint16, words, most int, m record.Interner, c *record.MapConfig, lost *uint64) {
	var got []uint64
	switch typ := event.ParseCommon(data).Type; typ {
	case full:
		for at := words; at+8 <= len(data); at += 8 {
			got = append(got, le(data[at:], 8))
		}
		want = want[:min(len(want), most)]
		for len(got) > len(want) && got[len(got)-1] == 0 {
			got = got[:len(got)-1]
		}
	case id:
		if _, mine := m.(*inOrder); !mine && c.TruncateDeep {
			depth := c.MaxDepth
			if depth == 0 {
				depth = 64
			}
			want = want[:min(len(want), depth)]
		}
		var ok bool
		if got, ok = m.Stack(uint32(le(data[event.CommonSize:], 4)), nil); ok && slices.Equal(got, want) {
			return
		}
		if *lost > 0 {
			*lost--
			return
		}
		if !ok {
			t.Fatalf("an id that stands for nothing: % x", data)
		}
	default:
		t.Fatalf("a record of type %d", typ)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the stack %#x, want %#x", got, want)
	}
}

func le(b []byte, n int) (v uint64) {
	for i := range n {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}
