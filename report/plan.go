package report

import (
	"cmp"
	"fmt"
	"math"
)

// Plan asks how much memory a goal takes, and what would be if the load were another one.
// The zero value asks nothing.
type Plan struct {
	// TargetSeconds is how far back the buffers have to reach; 0: not asked.
	TargetSeconds float64
	// MaxDropPct is the largest share of the kernel stacks, in percent, for which a map
	// may have no room; nil: not asked, and maps are chosen so that none is dropped.
	MaxDropPct *float64
	// BudgetKB is the memory of all buffers and maps together; 0: not asked.
	BudgetKB uint64

	Instances    int     // instances that record this load, each in buffers of its own; 0 means 1
	UniqueFactor float64 // how many different stacks there are for each one of the trace; 0 means 1
	Rate         float64 // events per second on all CPUs together; 0 means that of the trace
}

// The limits of a Plan.
const (
	maxTargetSeconds = 1e9
	maxInstances     = 1 << 16
	maxUniqueFactor  = 1e6
	maxRate          = 1e12
	maxBudgetKB      = 1 << 40
)

// asked reports whether p asks anything.
func (p *Plan) asked() bool { return *p.withDefaults() != *Plan{}.withDefaults() }

// validate refuses impossible plans.
func (p *Plan) validate() error {
	for _, n := range []struct {
		what        string
		value       float64
		least, most float64
	}{
		{"a target of %g seconds", p.TargetSeconds, 1e-6, maxTargetSeconds},
		{"%g instances", float64(p.Instances), 1, maxInstances},
		{"a factor of %g for unique stacks", p.UniqueFactor, 1e-3, maxUniqueFactor},
		{"a rate of %g events per second", p.Rate, 1e-3, maxRate},
		{"a budget of %g KB", float64(p.BudgetKB), 1, maxBudgetKB},
	} {
		if n.value != 0 && !(n.value >= n.least && n.value <= n.most) {
			return fmt.Errorf("report: "+n.what+": %w (%g to %g)", n.value, errRange, n.least, n.most)
		}
	}
	if d := p.MaxDropPct; d != nil && !(*d >= 0 && *d <= 100) {
		return fmt.Errorf("report: a drop rate of %g %%: %w (0 to 100)", *d, errRange)
	}
	return nil
}

// withDefaults fills in the defaults.
func (p Plan) withDefaults() *Plan {
	p.Instances = cmp.Or(p.Instances, 1)
	p.UniqueFactor = cmp.Or(p.UniqueFactor, 1)
	return &p
}

// maxDrops is the largest share of the stacks that a chosen map may drop.
func (p *Plan) maxDrops() float64 {
	if p.MaxDropPct == nil {
		return 0
	}
	return *p.MaxDropPct / 100
}

// atMost converts x, rounded up; 0 stands for more than limit, and for infinity.
func atMost(x float64, limit uint64) uint64 {
	if !(math.Ceil(x) <= float64(limit)) {
		return 0
	}
	return uint64(math.Ceil(x))
}
