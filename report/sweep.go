package report

import (
	"errors"
	"fmt"

	"ftracelab/stackmap"
)

// sweep answers for every size of map what it would have done with the trace's
// kernel stacks. eventBytes are those of all events without their stacks,
// fullBytes those with full ones.
//
// A slot is never freed while a trace runs, so the first sight of a stack decides
// about all its later ones: it has an id from then on, or is refused each time. So
// it is enough to ask each map once for each unique stack, in the order in which
// they came, and counts do the rest. What the census could not remember is counted
// as refused by all.
func sweep(cfg stackmap.Config, c *census, eventBytes, fullBytes uint64) ([]SweepPoint, error) {
	points := []SweepPoint{}
	for b := stackmap.MinBits; b <= stackmap.MaxBits; b++ {
		cfg.Bits = b
		m, err := stackmap.New(cfg)
		if err != nil {
			return nil, fmt.Errorf("report: sweep over bits, at %d: %w", b, err)
		}
		f := askAll(m, c.kernel)
		st := m.Stats()
		table, pool, _ := m.Config().Memory()
		bytes := eventBytes + f.bytes
		points = append(points, SweepPoint{
			Basis: Replayed, Bits: b, Entries: st.Entries, Capacity: st.Capacity,
			PoolPct: pct(st.Entries, st.Capacity), TablePct: pct(st.Entries, st.TableSize),
			HitRate: ratio(f.ids-min(f.ids, st.Entries), c.kernelStacks),
			Drops:   f.drops, Fallbacks: f.fallbacks,
			BytesPerEvent: ratio(bytes, c.events), SavingPct: savingPct(fullBytes, bytes),
			MapBytes: uint64(table + pool),
			NetBytes: int64(fullBytes) - int64(bytes) - int64(table+pool),
		})
	}
	return points, nil
}

// fates is what a map did with all occurrences of all stacks.
type fates struct {
	ids, drops, fallbacks uint64
	bytes                 uint64 // of the records that were written for them
}

// askAll asks m for every stack of u in turn.
func askAll(m *stackmap.Map, u *uniqueSet) (f fates) {
	for i := range u.stacks {
		s := &u.stacks[i]
		err := stackmap.ErrNoSpace
		if s.kept {
			_, err = m.GetID(0, u.addresses(s))
		}
		if err == nil {
			f.ids += s.count
			f.bytes += s.count * stackIDBytes
			continue
		}
		f.refuse(m, s.count, s.count*kernelStackBytes(int(s.depth)), err)
	}
	f.refuse(m, u.forgotten, u.forgottenBytes, stackmap.ErrNoSpace)
	return f
}

// refuse counts n stacks that were recorded in full.
func (f *fates) refuse(m *stackmap.Map, n, bytes uint64, err error) {
	f.fallbacks += n
	f.bytes += bytes
	if !errors.Is(err, stackmap.ErrNoSpace) {
		return
	}
	f.drops += n
	if m.Config().ReserveFirst {
		f.bytes += n * discardBytes
	}
}

// recommend chooses the size of the map.
//
// A map that refuses nothing and whose pool is at most half full leaves room for a
// trace that sees as many stacks again; the smallest of these is cheapest. When
// even the largest map does not get there, what remains is the best sum of bytes
// saved and memory spent.
func recommend(points []SweepPoint, stacks uint64, least bool) Recommendation {
	if stacks == 0 {
		return Recommendation{Why: "the trace has no kernel stacks: a stackmap has nothing to save"}
	}
	for _, p := range points {
		if p.Drops == 0 && p.PoolPct <= 50 {
			why := fmt.Sprintf("smallest map that refuses no stack and stays at most half full: %d of %d entries (%.1f %%)",
				p.Entries, p.Capacity, p.PoolPct)
			if least {
				why += "; there were more unique stacks than the census tells apart"
			}
			return Recommendation{Bits: p.Bits, Why: why + netNote(p)}
		}
	}
	best := points[0]
	for _, p := range points[1:] {
		if p.NetBytes > best.NetBytes {
			best = p
		}
	}
	why := fmt.Sprintf("no map is both without refusals and at most half full; with %d bits the bytes saved less the map's memory are best (%d drops, %.1f %% of the pool in use)",
		best.Bits, best.Drops, best.PoolPct)
	return Recommendation{Bits: best.Bits, Why: why + netNote(best)}
}

// netNote adds to a reason whether this trace is long enough to pay for the map.
func netNote(p SweepPoint) string {
	if p.NetBytes >= 0 {
		return fmt.Sprintf("; over this trace it saves %s more than its own %s", binaryBytes(uint64(p.NetBytes)), binaryBytes(p.MapBytes))
	}
	return fmt.Sprintf("; this trace is too short to pay for it: the map's %s are %s more than it saves", binaryBytes(p.MapBytes), binaryBytes(uint64(-p.NetBytes)))
}
