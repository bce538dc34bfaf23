package report

import (
	"errors"
	"fmt"

	"ftracelab/stackmap"
	"ftracelab/tracer/record"
)

// sweep computes, for every size of a map, what the map would have done with the
// trace's stacks of one kind. Those of the other kind count in full.
//
// A slot is never freed while a trace runs, so what happens to a stack the first time
// happens each time: it has an id from then on, or it is always refused. So it is
// enough to ask each map once for each unique stack, in the order in which they came;
// the counts give the rest. For a stack whose addresses the census did not keep, a
// stand-in is made from its hash. It gets some other slot but takes as much room.
// Stacks that the census could not tell apart count as refused by all maps.
func (r *run) sweep(cfg record.MapConfig, kind stackKind) ([]SweepPoint, []record.Cost, []fates, error) {
	c, base := r.census, r.writers[0].sum()
	kernelBytes, userBytes := c.kernelBytes, c.userStacks*userStackBytes
	fullBytes := base.recordBytes() - base.stackBytes + kernelBytes + userBytes
	u, stacks, eventBytes, refused := c.kernel, c.kernelStacks, fullBytes-kernelBytes, kernelStackBytes
	if kind == userKind {
		u, stacks, eventBytes = c.user, c.userStacks, fullBytes-userBytes
		refused = func(int) uint64 { return userStackBytes }
	}
	var points []SweepPoint
	var costs []record.Cost
	var all []fates
	for b := stackmap.MinBits; b <= stackmap.MaxBits; b++ {
		if err := r.ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		cfg.Bits = b
		m, err := cfg.Open()
		if err != nil {
			return nil, nil, nil, fmt.Errorf("report: sweep over bits, at %d: %w", b, err)
		}
		f := askAll(m, u, refused)
		if cfg.ReserveFirst {
			f.bytes += f.drops * discardBytes
		}
		cost := m.Cost()
		memory := cost.Table + cost.Pool
		bytes := eventBytes + f.bytes
		points = append(points, SweepPoint{
			Basis: Replayed, Bits: b, Entries: cost.Entries, Capacity: cost.Capacity, TableSize: cost.Slots,
			PoolPct: pct(cost.Entries, cost.Capacity), TablePct: pct(cost.Entries, cost.Slots),
			HitRate: ratio(f.ids-min(f.ids, cost.Entries), stacks),
			Drops:   f.drops, Fallbacks: f.fallbacks,
			BytesPerEvent: ratio(bytes, c.events), SavingPct: savingPct(fullBytes, bytes),
			MapBytes: memory,
			NetBytes: int64(fullBytes) - int64(bytes) - int64(memory),
		})
		costs, all = append(costs, cost), append(all, f)
	}
	return points, costs, all, nil
}

// fates counts what a map did with all occurrences of all stacks.
type fates struct {
	ids, drops, fallbacks uint64
	bytes                 uint64 // the size of the records that were written for them
}

// askAll asks m for every stack of u in turn. bytes gives the room that a stack of some
// depth takes if m refuses it.
func askAll(m record.Interner, u *uniqueSet, bytes func(depth int) uint64) (f fates) {
	standIns := standIns{cut: keepsFixed(m)}
	for i := range u.stacks {
		s := &u.stacks[i]
		ips := u.addresses(s)
		if !s.kept {
			ips = standIns.of(s)
		}
		if _, err := m.Intern(0, ips); err != nil {
			f.refuse(s.count, s.count*bytes(int(s.depth)), err)
			continue
		}
		f.ids += s.count
		f.bytes += s.count * stackIDBytes
	}
	mean := uint64(0)
	if u.forgotten > 0 {
		mean = bytes(int(u.forgottenWords / u.forgotten))
	}
	f.refuse(u.forgotten, u.forgotten*mean, record.ErrNoSpace)
	return f
}

// standIns makes stacks that stand for those whose addresses were not kept.
type standIns struct {
	cut int // all stacks up to this depth take the same room; 0: there is no such depth
	ips []uint64
}

// keepsFixed is the depth up to which all stacks take the same room in m. The elements
// of a stackmap all have the same size, unless they are packed.
func keepsFixed(m record.Interner) int {
	if m, ok := m.(record.Stackmap); ok && m.Config().Pool != stackmap.PackedPool {
		return m.Config().MaxDepth
	}
	return 0
}

// of makes a stack that stands for s and differs from it only in its hash, as far as m
// is concerned. If the depth makes no difference, the stack is short, because m keeps a
// copy.
func (st *standIns) of(s *uniqueStack) []uint64 {
	depth := int(s.depth)
	if depth > 0 && depth <= st.cut {
		depth = 1
	}
	st.ips = st.ips[:0]
	for n := range uint64(depth) {
		st.ips = append(st.ips, s.hash+n)
	}
	return st.ips
}

// refuse counts n stacks that were recorded in full.
func (f *fates) refuse(n, bytes uint64, err error) {
	f.fallbacks += n
	f.bytes += bytes
	if errors.Is(err, record.ErrNoSpace) {
		f.drops += n
	}
}
