package report

import (
	"fmt"

	"ftracelab/stackmap"
	"ftracelab/tracer/record"
)

// stackKind says whether stacks are the kernel's or those of user space.
type stackKind int

const (
	kernelKind stackKind = iota
	userKind
)

func (k stackKind) String() string { return [...]string{"kernel", "user"}[k] }

// study is a sweep over the sizes of one kind of map. It is made once for all designs
// that have such a map.
type study struct {
	cfg         record.MapConfig // Bits 0
	kind        stackKind
	points      []SweepPoint
	costs       []record.Cost // the costs of the maps of the points
	fates       []fates       // what the maps of the points did with the stacks
	recommended Recommendation
	// unused is the cost of the smallest map, if the trace has no stacks of this kind and
	// thus no size is recommended.
	unused *record.Cost
}

// study returns the sweep over the sizes of a map configured as cfg.
func (r *run) study(cfg record.MapConfig, kind stackKind) (*study, error) {
	cfg.Bits = 0
	for _, s := range r.studies {
		if s.kind == kind && s.cfg.New == nil && cfg.New == nil && s.cfg.Config == cfg.Config && s.cfg.Policy == cfg.Policy {
			return s, nil
		}
	}
	s := &study{cfg: cfg, kind: kind}
	if cfg.NoSweep != "" {
		s.recommended.Why = "no size is recommended: " + cfg.NoSweep
		return s, nil
	}
	stacks, least := r.census.kernelStacks, r.census.kernel.forgotten > 0
	if kind == userKind {
		stacks, least = r.census.userStacks, r.census.user.forgotten > 0
	}
	var err error
	if stacks > 0 {
		if s.points, s.costs, s.fates, err = r.sweep(cfg, kind); err != nil {
			return nil, err
		}
	}
	s.recommended = recommend(s.points, kind, least)
	if len(s.points) == 0 && kind == kernelKind && r.census.stackIDs > 0 {
		s.recommended.Why = "the kernel stacks of the trace are in a map that was not read"
	} else if len(s.points) == 0 {
		if s.unused, err = smallest(cfg); err != nil {
			return nil, err
		}
	}
	r.studies = append(r.studies, s)
	return s, nil
}

// smallest is the cost of an empty map of the smallest size.
func smallest(cfg record.MapConfig) (*record.Cost, error) {
	cfg.Bits = stackmap.MinBits
	m, err := cfg.Open()
	if err != nil {
		return nil, fmt.Errorf("report: the smallest map: %w", err)
	}
	cost := m.Cost()
	return &cost, nil
}

// mapStudies returns the studies for the two maps of a design; nil for a map that it
// does not have.
func (r *run) mapStudies(d *record.Design) (of [2]*study, err error) {
	if d.Kernel == record.StackID {
		of[kernelKind], err = r.study(d.KernelMap, kernelKind)
	}
	if err == nil && d.User == record.StackID {
		of[userKind], err = r.study(d.UserMap, userKind)
	}
	return of, err
}

// recommend chooses the size of a map: the smallest one that refuses no stack and whose
// pool is at most half full, so that there is room for as many stacks again. If there
// is no such size, it chooses the smallest one that refuses no stack, and failing that,
// the largest size.
//
// In the first two cases a trace written through that map has the same bytes as
// one written through any larger map, because all ids have one size. So a
// design is written once, through the largest map, and its figures are those of
// the recommended one. TestRecommendedIsReplayed compares the two.
func recommend(points []SweepPoint, kind stackKind, least bool) Recommendation {
	if len(points) == 0 {
		return Recommendation{Why: fmt.Sprintf("the trace has no %v stacks: a stackmap has nothing to save", kind)}
	}
	fits := func(most float64) *SweepPoint {
		for i := range points {
			if points[i].Drops == 0 && points[i].PoolPct <= most {
				return &points[i]
			}
		}
		return nil
	}
	more := ""
	if least {
		more = "; there were more unique stacks than the census tells apart"
	}
	if p := fits(50); p != nil {
		return Recommendation{Bits: p.Bits, Why: fmt.Sprintf(
			"smallest map that refuses no stack and stays at most half full: %s of %s entries (%.1f %%)%s",
			Group(p.Entries), Group(p.Capacity), p.PoolPct, more)}
	}
	if p := fits(100); p != nil {
		return Recommendation{Bits: p.Bits, Why: fmt.Sprintf(
			"smallest map that refuses no stack, but it is %.1f %% full: a longer trace will not fit%s", p.PoolPct, more)}
	}
	p := &points[len(points)-1]
	return Recommendation{Bits: p.Bits, Why: fmt.Sprintf(
		"largest map there is, which does not hold all stacks: it has no room for %s of them, which are written in full%s", Group(p.Drops), more)}
}
