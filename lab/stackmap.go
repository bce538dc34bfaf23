package lab

import (
	"errors"
	"fmt"
	"slices"

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
	const probes = 4
	cfg := stackmap.Documented()
	cfg.Bits, cfg.Probes = stackmap.MinBits, probes
	m, err := stackmap.New(cfg)
	if err != nil {
		p.err = err
		return
	}
	names := map[uint64]string{}
	for _, c := range callers {
		names[c.addr] = c.name
	}
	state := MapState{Size: 2 << cfg.Bits, Probes: probes, Names: names}
	p.copy = func(mo *Moment) {
		s := state
		s.Slots = slices.Collect(m.Slots())
		s.Last = slices.Clone(state.Last)
		mo.Map = &s
	}
	p.begin(fmt.Sprintf("The map is empty. It has %d slots for at most %d stacks, and tries %d slots for a stack before it gives up. (A kernel tries 64; with 4 one sees a drop sooner.)", state.Size, state.Size/2, probes))
	for _, s := range stacks {
		var ips []uint64
		for _, i := range s {
			ips = append(ips, callers[i].addr+0x10)
			names[callers[i].addr+0x10] = callers[i].name + "+0x10"
		}
		p.ask(m, &state, ips)
	}
	for _, ips := range rivals(&cfg, probes+1) {
		p.ask(m, &state, ips)
	}
	if err := m.Reset(nil); err != nil {
		p.err = err
		return
	}
	state.Last = nil
	p.step("user", "writes 0 to stack_map", 0, sentence{
		"All slots are empty again, and so are all ids without a meaning that the trace may still hold. That is why the kernel refuses this while tracing is on, and clears the buffer first.",
		"ftrace_stackmap_reset",
	})
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

func (p *player) ask(m *stackmap.Map, state *MapState, ips []uint64) {
	before := m.Stats()
	id, err := m.GetID(0, ips)
	after := m.Stats()
	state.Last = ips
	what := fmt.Sprintf("asks for a stack of %d addresses", len(ips))
	switch {
	case errors.Is(err, stackmap.ErrNoSpace):
		p.step("cpu 0", what+" and gets no id", Drop, sentence{
			"All slots that may be tried hold other stacks. The map drops this one, and the trace records the whole stack instead. Nothing is lost but room.",
			"ftrace_stackmap_get_id",
		})
	case err != nil:
		p.err = err
	case after.Entries > before.Entries:
		p.step("cpu 0", fmt.Sprintf("%s and gets the new id %d", what, id), Miss, sentence{
			"The stack was not in the map. Its hash chose a home slot; the first empty slot from there on was claimed by a compare-and-swap of its key, and its number is the id.",
			"ftrace_stackmap_get_id",
		})
	default:
		p.step("cpu 0", fmt.Sprintf("%s and gets the known id %d", what, id), Hit, sentence{
			"The slot has this hash, and the addresses are the same. The count of the stack goes up by one; the event carries 4 bytes instead of the stack.",
			"ftrace_stackmap_get_id",
		})
	}
}
