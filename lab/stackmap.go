package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ftracelab/stackmap"
)

// callers are the functions of the stacks that the scenario asks for, innermost first.
var callers = []struct {
	addr uint64
	name string
}{
	{0xffffffff81001000, "schedule"},
	{0xffffffff81002000, "pipe_read"},
	{0xffffffff81003000, "vfs_read"},
	{0xffffffff81004000, "do_syscall_64"},
	{0xffffffff81005000, "do_nanosleep"},
	{0xffffffff81006000, "worker_thread"},
}

// The stacks, as indexes into callers; the first two come again.
var stacks = [][]int{{0, 1, 2, 3}, {0, 4, 3}, {0, 1, 2, 3}, {0, 5}, {0, 4, 3}, {1, 2, 3}}

// stackmap asks a small map for a few stacks, and then for so many stacks that
// compete for the same slots that one is dropped.
func (p *player) stackmap() {
	m, state := p.emptyMap()
	if p.err != nil {
		return
	}
	p.begin(fmt.Sprintf("The map is empty. It has %d slots for at most %d stacks, and tries %d slots for a stack before it gives up. (A kernel tries 64; with 4 one sees a drop sooner.)", state.Size, state.Size/2, state.Probes))
	for _, s := range stacks {
		var ips []uint64
		for _, i := range s {
			ips = append(ips, callers[i].addr+0x10)
		}
		p.ask(m, state, ips)
	}
	cfg := m.Config()
	for _, ips := range rivals(&cfg, state.Probes+1) {
		p.ask(m, state, ips)
	}
	p.reset(m, state)
}

// emptyMap makes a small map, and lets moments show it.
func (p *player) emptyMap() (*stackmap.Map, *MapState) {
	cfg := stackmap.Documented()
	cfg.Bits, cfg.Probes = stackmap.MinBits, 4
	m, err := stackmap.New(cfg)
	if err != nil {
		p.err = err
		return nil, nil
	}
	names := map[uint64]string{}
	for _, c := range callers {
		names[c.addr], names[c.addr+0x10] = c.name, c.name+"+0x10"
	}
	state := &MapState{Size: 2 << cfg.Bits, Probes: cfg.Probes, Names: names}
	stat := func(get func(stackmap.Stats) uint64) func() uint64 {
		return func() uint64 { return get(m.Stats()) }
	}
	p.values = map[string]func() uint64{
		"entries": stat(func(s stackmap.Stats) uint64 { return uint64(s.Entries) }),
		"drops":   stat(func(s stackmap.Stats) uint64 { return uint64(s.Drops) }),
	}
	p.copy = func(mo *Moment) {
		s := *state
		s.Slots = slices.Collect(m.Slots())
		s.Last, s.Path, s.Askers = slices.Clone(s.Last), slices.Clone(s.Path), slices.Clone(s.Askers)
		mo.Map = &s
	}
	return m, state
}

func (p *player) reset(m *stackmap.Map, state *MapState) {
	if err := m.Reset(nil); err != nil {
		p.err = err
		return
	}
	state.Last, state.Path = nil, nil
	p.step("user", "writes 0 to stack_map", Reset, sayReset)
}

// poolOfStacks uses up the elements of a map, and asks for more.
func (p *player) poolOfStacks() {
	m, state := p.emptyMap()
	if p.err != nil {
		return
	}
	p.begin(fmt.Sprintf("The map is empty. It has %d slots, and a pool of elements for %d stacks.", state.Size, state.Size/2))
	for a := uint64(0xffffffff83000000); m.Stats().Entries < uint64(state.Size/2); a += 16 {
		if _, err := m.GetID(0, []uint64{a}); err != nil && !errors.Is(err, stackmap.ErrNoSpace) {
			p.err = err
			return
		}
	}
	p.step("cpu 0", fmt.Sprintf("has brought so many stacks that all %d elements are taken", state.Size/2), Miss, sentence{
		"Half of the slots are still empty, and so they stay: a search nearly always ends at an empty slot. A few of these stacks found no slot among those that they could try, and were dropped.",
		"ftrace_stackmap_get_id",
	})
	late := []uint64{callers[0].addr + 0x10, callers[4].addr + 0x10, callers[3].addr + 0x10}
	for range state.Probes + 1 {
		p.ask(m, state, late)
	}
	p.reset(m, state)
	p.ask(m, state, late)
}

// rivals are n stacks with the same home slot.
func rivals(cfg *stackmap.Config, n int) [][]uint64 {
	home := func(ips []uint64) uint32 { return cfg.Key(ips) >> (31 - cfg.Bits) }
	var found [][]uint64
	for a := uint64(0xffffffff82000000); len(found) < n; a += 16 {
		ips := []uint64{a, callers[3].addr + 0x10}
		if len(found) == 0 || home(ips) == home(found[0]) {
			found = append(found, ips)
		}
	}
	return found
}

// ask makes a whole look-up one step.
func (p *player) ask(m *stackmap.Map, state *MapState, ips []uint64) {
	l, err := m.Lookup(0, ips)
	if err != nil {
		p.err = err
		return
	}
	state.Last, state.Path = ips, nil
	var done []stackmap.Op
	for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
		s := l.Step()
		if s.Op == stackmap.OpLoad {
			state.Path = append(state.Path, s.Slot)
		}
		done = append(done, s.Op)
	}
	id, err := l.Result()
	what := fmt.Sprintf("asks for a stack of %d addresses", len(ips))
	switch {
	case err != nil && slices.Contains(done, stackmap.OpElement):
		p.step("cpu 0", what+" and leaves a gravestone", Drop|Gravestone, sentence{
			"There was an empty slot, and this stack's hash is in it now, but the pool has no element left for the addresses. The slot stays claimed without a stack. Nobody can use it until a reset, not even this stack when it comes again.",
			"ftrace_stackmap_get_id",
		})
	case err != nil:
		p.step("cpu 0", what+" and gets no id", Drop, sayNoSlot)
	case slices.Contains(done, stackmap.OpPublish):
		p.step("cpu 0", fmt.Sprintf("%s and gets the new id %d", what, id), Miss, sentence{
			"The stack was not in the map. Its hash chose a home slot; the first empty slot from there on was claimed by a compare-and-swap of its key, and its number is the id.",
			"ftrace_stackmap_get_id",
		})
	default:
		p.step("cpu 0", fmt.Sprintf("%s and gets the known id %d", what, id), Hit, sayHit)
	}
}

// duplicates are the slots whose stack is in a slot before them as well.
func (s *MapState) duplicates() map[uint32]uint32 {
	first, of := map[string]uint32{}, map[uint32]uint32{}
	for _, slot := range s.Slots {
		if slot.IPs == nil {
			continue
		}
		stack := fmt.Sprint(slot.IPs)
		if id, ok := first[stack]; ok {
			of[slot.ID] = id
		} else {
			first[stack] = slot.ID
		}
	}
	return of
}

func (s *MapState) text(ips []uint64) string {
	var names []string
	for _, ip := range ips {
		name, ok := s.Names[ip]
		if !ok {
			name = fmt.Sprintf("%#x", ip)
		}
		names = append(names, name)
	}
	return strings.Join(names, " < ")
}
