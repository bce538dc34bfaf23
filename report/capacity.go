package report

import (
	"math"

	"ftracelab/stackmap"
	"ftracelab/tracer/record"
)

// Capacity says how far memory reaches: how the number of unique kernel stacks goes on,
// when maps are full and when they have paid for themselves, and what a [Plan] asked.
// All of it assumes that the load goes on at the trace's mean rate and with its mix of
// stacks.
type Capacity struct {
	Basis        Basis   `json:"basis"`
	Asked        bool    `json:"asked"` // a Plan asked something
	Instances    int     `json:"instances"`
	UniqueFactor float64 `json:"unique_factor"`
	Rate         float64 `json:"events_per_second"` // on all CPUs; 0: the capture has no times, and no rate was given
	MaxDropPct   float64 `json:"max_drop_pct"`      // of chosen maps

	Growth     Growth        `json:"growth"`
	Maps       []MapCapacity `json:"maps"`            // a row for each number of bits; empty if there are no kernel stacks
	EnoughBits int           `json:"enough_bits"`     // the bits of the smallest map that drops no more than max_drop_pct of the trace's stacks; 0: none
	Pays       *Pays         `json:"pays,omitempty"`  // about the map of the first design that has one; none: it saves nothing
	Shared     []Sharing     `json:"sharing"`         // of each design with a map
	Sizes      []Size        `json:"sizes"`           // of each design, with each size of map that may be chosen, see [Report.At]
	Target     float64       `json:"target_seconds"`  // 0: not asked
	LookBack   []Reach       `json:"reach_target"`    // what each design takes to look back target_seconds
	BudgetKB   uint64        `json:"budget_kb"`       // 0: not asked
	Budget     []Reach       `json:"reach_budget"`    // what each design makes of budget_kb; those for which it is too small are missing
	Best       string        `json:"best_for_budget"` // of those that keep stacks and exist, the design that looks back furthest
}

// Growth is the law that the number of unique kernel stacks follows: U = scale·n^shape
// ("heaps") or U = scale·n/(n+shape) ("saturating") for n stacks. It is that of the trace,
// without the factor of a Plan, and is continued from the end of the trace on.
type Growth struct {
	Law   string  `json:"law"` // empty: there is none to believe
	Scale float64 `json:"scale"`
	Shape float64 `json:"shape"`
	// ErrorPct is how far the law was off, at most, on the second half of the trace
	// when it was fitted to the first.
	ErrorPct float64 `json:"error_pct"`
	// Doubled is the number of unique stacks in a trace of twice as many, and
	// DoubledAtWorst the same if new ones keep coming as fast as in the fastest tenth
	// of the trace, the first one apart. Both hold the factor of the Plan; 0: unknown.
	Doubled        uint64 `json:"unique_when_doubled"`
	DoubledAtWorst uint64 `json:"unique_when_doubled_at_worst"`
	Why            string `json:"why,omitempty"` // why there is no law
}

// MapCapacity says how long a map of that size lasts. While it is not full, it drops
// nothing.
type MapCapacity struct {
	Bits     int     `json:"bits"`
	Capacity uint64  `json:"capacity"`
	MapBytes uint64  `json:"map_bytes"`
	DropsPct float64 `json:"drops_pct"` // the share of the trace's kernel stacks for which it has no room
	// Full and FullAtWorst say when it is full: by the law, and if new stacks come as
	// fast as they ever did.
	Full        Moment `json:"full"`
	FullAtWorst Moment `json:"full_at_worst"`
}

// Moment is a point of the trace or after it.
type Moment struct {
	Known   bool    `json:"known"`
	Later   bool    `json:"later"`   // it comes later than this, or never: a law is not continued further
	Events  uint64  `json:"events"`  // how many events come before it
	Seconds Seconds `json:"seconds"` // null: there are no times
}

// Pays says from when on the bytes that are not written are more than the memory of the
// map.
type Pays struct {
	Design   string `json:"design"`
	Bits     int    `json:"bits"`
	MapBytes uint64 `json:"map_bytes"`
	After    Moment `json:"after"`
	// LookBack is how far buffers reach back with the map when it is worth as much in
	// them as larger buffers would be; who wants to look back further needs the map.
	LookBack Seconds `json:"from_look_back_seconds"` // null: unknown, or the map never pays
	Unique   uint64  `json:"unique_then"`            // unique stacks at that moment, by the law; 0: unknown
}

// Sharing says what the instances of a kernel have of the map of a design. If there is one
// map in the kernel, its memory counts once, and what one instance has put in is found
// by the others. If each instance has one, the memory counts for each of them.
type Sharing struct {
	Design string `json:"design"`
	// WithIDs is how many of the instances can record ids; the others have full stacks.
	WithIDs int `json:"instances_with_ids"`
	Maps    int `json:"maps"` // how many maps there are
}

// Reach is a design with buffers of some size. Memory is that of all buffers, with the
// page that a reader has, and of the maps.
type Reach struct {
	Design   string  `json:"design"`
	Exists   bool    `json:"exists"`
	Bits     int     `json:"bits"` // of its map of kernel stacks; 0: it has none
	MapBytes uint64  `json:"map_bytes"`
	DropsPct float64 `json:"drops_pct"`
	// BufferKB is buffer_size_kb of each instance; 0: more than MaxBufferSizeKB. Where
	// only the top instance has ids, OthersKB is that of the others.
	BufferKB uint64  `json:"buffer_size_kb"`
	OthersKB uint64  `json:"others_buffer_size_kb,omitempty"`
	Memory   uint64  `json:"memory"`
	Events   uint64  `json:"events"`  // how many events on all CPUs it looks back
	Seconds  Seconds `json:"seconds"` // how far it looks back; null: there are no times
	// OthersSeconds is how far instances without ids look back.
	OthersSeconds Seconds `json:"others_seconds"`
}

// planner answers a Plan.
type planner struct {
	*run
	rep  *Report
	plan *Plan
	rate float64 // events per second on all CPUs; 0: unknown
	law  fitted
	why  string  // why law is none; empty: it is one
	pace float64 // new stacks per stack, at worst; 0: unknown
}

// capacity answers the plan of the options from a report in which everything else but the
// words is complete.
func (r *run) capacity(rep *Report) (Capacity, error) {
	p := &planner{run: r, rep: rep, plan: r.opt.Plan.withDefaults(), rate: r.opt.Plan.Rate}
	if s := rep.Input.Seconds; p.rate == 0 && s > 0 {
		p.rate = float64(rep.Input.Events) / float64(s)
	}
	c := Capacity{
		Basis: Extrapolated, Asked: r.opt.Plan.asked(), Instances: p.plan.Instances, UniqueFactor: p.plan.UniqueFactor,
		Rate: round4(p.rate), MaxDropPct: 100 * p.plan.maxDrops(), Maps: []MapCapacity{}, Shared: []Sharing{}, Sizes: []Size{},
		Target: p.plan.TargetSeconds, LookBack: []Reach{}, BudgetKB: p.plan.BudgetKB, Budget: []Reach{},
	}
	c.Growth = p.growth()
	if rep.Input.Events == 0 {
		return c, nil
	}
	var first *option
	for i := range rep.Designs {
		options, err := p.options(i)
		if err != nil {
			return c, err
		}
		for j := range options {
			c.Sizes = append(c.Sizes, options[j].size())
		}
		chosen := p.choose(options)
		if chosen.bits > 0 {
			c.Shared = append(c.Shared, Sharing{rep.Designs[i].Name, chosen.withIDs, chosen.copies})
			if first == nil {
				first = &chosen
				c.Pays = p.pays(&chosen)
			}
		}
		if p.plan.TargetSeconds > 0 && p.rate > 0 {
			c.LookBack = append(c.LookBack, p.lookBack(&chosen))
		}
		if best := p.fill(options); p.plan.BudgetKB > 0 && best != nil {
			c.Budget = append(c.Budget, *best)
		}
	}
	for _, s := range rep.Sweep {
		m := p.lasts(s)
		if c.EnoughBits == 0 && m.DropsPct <= c.MaxDropPct {
			c.EnoughBits = m.Bits
		}
		c.Maps = append(c.Maps, m)
	}
	c.Best = p.best(c.Budget)
	return c, nil
}

// lawReach is how far laws are continued: so many times as long as the trace.
const lawReach = 10

// growth fits the law. The growth of a capture without times says nothing, because its
// stacks may have any order.
func (p *planner) growth() Growth {
	points := p.rep.Growth
	switch {
	case len(points) == 0:
		p.why = "the trace has no kernel stacks"
	case !p.census.timed():
		p.why = "the capture has no times, so its order says nothing about growth"
	case p.rep.Input.KernelAtLeast:
		p.why = "there were more unique stacks than the census tells apart"
	default:
		p.law, p.why = fitLaw(points)
		if len(points) >= lawPoints && points[len(points)-1].Stacks >= lawStacks {
			p.pace = fastest(points)
		}
	}
	g := Growth{Why: p.why}
	if p.pace > 0 {
		last := points[len(points)-1]
		g.DoubledAtWorst = p.scaled(float64(last.Unique) + p.pace*float64(last.Stacks))
	}
	if p.why == "" {
		g.Law, g.Scale, g.Shape, g.ErrorPct = p.law.name, round6(p.law.scale), round6(p.law.shape), round4(100*p.law.err)
		g.Doubled = p.scaled(p.law.unique(2 * p.law.n))
	}
	return g
}

// scaled is a number of unique stacks with the factor of the plan.
func (p *planner) scaled(unique float64) uint64 {
	return atMost(math.Round(unique*p.plan.UniqueFactor), 1<<62)
}

// lasts says how long a map of a size of the sweep lasts.
func (p *planner) lasts(s SweepPoint) MapCapacity {
	m := MapCapacity{Bits: s.Bits, Capacity: s.Capacity, MapBytes: s.MapBytes, DropsPct: round4(100 * p.dropShare(s))}
	room := float64(s.Capacity) / p.plan.UniqueFactor // in unique stacks of the trace
	for _, g := range p.rep.Growth {
		if p.census.timed() && float64(g.Unique) >= room {
			m.Full = p.moment(float64(g.Events))
			m.FullAtWorst = m.Full
			return m
		}
	}
	if p.why == "" {
		events, most := p.law.stacks(room)*p.eventsPerStack(), lawReach*float64(p.rep.Input.Events)
		m.Full = p.moment(min(events, most))
		m.Full.Later = events > most
	}
	if p.pace > 0 {
		last := p.rep.Growth[len(p.rep.Growth)-1]
		m.FullAtWorst = p.moment((float64(last.Stacks) + (room-float64(last.Unique))/p.pace) * p.eventsPerStack())
	}
	return m
}

func (p *planner) eventsPerStack() float64 {
	return float64(p.rep.Input.Events) / float64(max(1, p.rep.Input.KernelStacks))
}

// moment is the point after that many events.
func (p *planner) moment(events float64) Moment {
	events = min(events, 1<<62)
	m := Moment{Known: true, Seconds: Unknown, Events: uint64(math.Ceil(events))}
	if p.rate > 0 {
		m.Seconds = Seconds(round6(events / p.rate))
	}
	return m
}

// dropShare is the share of the trace's kernel stacks for which a map has no room. As
// long as the plan leaves the stacks as they are, that was replayed. Otherwise each
// unique stack is taken for as many as the factor says, which share its occurrences and
// come one after the other.
func (p *planner) dropShare(s SweepPoint) float64 {
	if p.plan.UniqueFactor == 1 {
		return float64(s.Drops) / float64(max(1, p.rep.Input.KernelStacks))
	}
	return p.census.kernel.without(float64(s.Capacity) / p.plan.UniqueFactor)
}

// without is the share of all occurrences that are not of one of the first n stacks.
func (u *uniqueSet) without(n float64) float64 {
	first, all := 0.0, float64(u.forgotten)
	for i := range u.stacks {
		count := float64(u.stacks[i].count)
		all += count
		first += count * min(1, max(0, n-float64(i)))
	}
	if all == 0 {
		return 0
	}
	return 1 - first/all
}

// option is a design with a map of some size.
type option struct {
	*Result
	bits    int // 0: no map of kernel stacks
	maps    uint64
	one     uint64  // what one instance has of maps
	full    float64 // the share of its elements that are in use, if all could be
	drops   float64 // the share of stacks that the map drops
	withIDs int     // how many instances can use the map
	copies  int     // how many maps there are; maps is the memory of all
	kept    float64 // the share of what it saves on the trace that is left with drops
	pages   float64 // sub-buffers that the busiest CPU fills for an event on all CPUs
	others  float64 // the same for the instances that cannot use the map
}

// options lists design n with each size of map that the caller left open.
func (p *planner) options(n int) ([]option, error) {
	w, d, events := p.writers[n], &p.rep.Designs[n], p.rep.Input.Events
	o := option{Result: d, maps: d.MapBytes, one: d.MapBytes, withIDs: p.plan.Instances, copies: 1, kept: 1, pages: w.pagesPerEvent(events)}
	o.others = o.pages
	cfg := w.design.KernelMap
	if w.design.Kernel != record.StackID || len(d.Maps) == 0 {
		return []option{o}, nil
	}
	s, err := p.study(cfg, kernelKind)
	if err != nil || len(s.points) == 0 {
		return []option{o}, err
	}
	switch {
	case cfg.PerInstance:
		o.copies = p.plan.Instances
	case cfg.TopLevelOnly:
		o.withIDs = 1
	}
	full := p.writers[0].pagesPerEvent(events)
	if o.withIDs < p.plan.Instances {
		o.others = full
	}
	other := d.MapBytes - d.Maps[0].TableBytes - d.Maps[0].PoolBytes // the map of user stacks
	replayed := float64(d.Drops) / float64(max(1, p.rep.Input.KernelStacks))
	var all []option
	for i, point := range s.points {
		if cfg.Bits != 0 && point.Bits != min(max(cfg.Bits, stackmap.MinBits), stackmap.MaxBits) {
			continue
		}
		b := o
		b.bits, b.drops = point.Bits, p.dropShare(point)
		b.maps = other + uint64(b.copies)*(s.costs[i].Table+s.costs[i].Pool)
		b.one = other + s.costs[i].Table + s.costs[i].Pool
		b.full = p.plan.UniqueFactor * float64(s.points[len(s.points)-1].Entries) / float64(point.Capacity)
		if more := b.drops - replayed; more > 0 && replayed < 1 {
			b.kept = max(0, 1-more/(1-replayed))
			b.pages = full - (full-b.pages)*b.kept
		}
		all = append(all, b)
	}
	return all, nil
}

func (o *option) size() Size {
	return Size{Design: o.Name, Exists: o.Exists, Bits: o.bits, MapBytes: o.one, DropsPct: round4(100 * o.drops), PagesPerEvent: o.pages}
}

// choose takes the smallest map that drops no more than the plan allows. If the plan does
// not say, that is one that drops nothing and stays at most half full, if there is one, as
// [Recommendation] has it. If no map is large enough, it is the largest.
func (p *planner) choose(options []option) option {
	for _, o := range options {
		if p.plan.MaxDropPct == nil && o.drops == 0 && o.full <= 0.5 {
			return o
		}
	}
	for _, o := range options {
		if o.drops <= p.plan.maxDrops() {
			return o
		}
	}
	return options[len(options)-1]
}

// pagesPerEvent is how many sub-buffers the busiest CPU fills for each of the events of
// all CPUs.
func (w *writer) pagesPerEvent(events uint64) float64 {
	var most float64
	for _, l := range w.lanes {
		if l != nil && l.keep.totalEvents > 0 {
			most = max(most, float64(l.keep.totalEvents)/l.keep.perPage())
		}
	}
	return most / float64(max(1, events))
}
