package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"
	"strings"

	"ftracelab/report"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// RunOptions say how much is drawn from a model. If both limits are zero, that is as many
// events as it was learned from.
type RunOptions struct {
	Seed     uint64
	Events   uint64 // 0: as many as there are in Duration
	Duration uint64 // in nanoseconds; 0: as long as Events take
}

// Source draws the records of a trace from a model. The same model, options and seed give
// the same records. It is a [record.Source] and a [report.Caveater].
type Source struct {
	model        *Model
	opt          RunOptions
	rng          *rand.Rand
	cpus         []cpuState
	which        weights // of the CPUs, for a model without times
	types        []eventState
	whichType    weights
	kernel, user *pool
	events       uint64

	data  []byte
	stack []uint64
	next  record.Record // a stack that is due; Kind says which
	due   [2]*pool      // the kernel's and the user's
}

type cpuState struct {
	*CPU
	next     uint64 // the time of its next event
	gaps     weights
	tasks    weights // the last one stands for all others
	pid      int32
	hasBegun bool
}

type eventState struct {
	*Event
	typ   *event.Type
	sizes weights
}

// firstType is the id of a model's first type of events, above those of the kernel's own.
const firstType = 1000

// firstOther is the pid of the first task that has no row of its own.
const firstOther = 1 << 21

// Open begins to draw.
func (m *Model) Open(opt RunOptions) (*Source, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if opt.Duration > 0 && m.Learned.Seconds == 0 {
		return nil, errors.New("the model has no times, so it cannot be run for a duration")
	}
	if opt.Events == 0 && opt.Duration == 0 {
		opt.Events = m.Learned.Events
	}
	s := &Source{model: m, opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0))}
	for n := range m.CPUs {
		c := &m.CPUs[n]
		state := cpuState{CPU: c}
		for _, t := range c.Tasks {
			state.tasks.add(t.Events)
		}
		state.tasks.add(c.Others[1])
		for _, g := range c.Gaps {
			state.gaps.add(g[1])
		}
		if m.Learned.Seconds > 0 {
			state.next = uint64(s.rng.Float64() * float64(state.gap(s.rng)))
		}
		s.which.add(c.Events)
		s.cpus = append(s.cpus, state)
	}
	for n := range m.Events {
		e := &m.Events[n]
		system, name, _ := strings.Cut(e.Name, ":")
		typ, err := event.NewType(firstType+n, system, name, "", nil)
		if err != nil {
			return nil, within(wrong(err.Error(), "name"), "events", n)
		}
		state := eventState{Event: e, typ: typ}
		for _, size := range e.Sizes {
			state.sizes.add(size[1])
		}
		s.whichType.add(e.Events)
		s.types = append(s.types, state)
	}
	s.kernel, s.user = newPool(m.Kernel, opt.Seed, kernelBase), newPool(m.User, opt.Seed, userBase)
	return s, nil
}

// Next implements [record.Source].
func (s *Source) Next(r *record.Record) error {
	for n, p := range s.due {
		if p == nil {
			continue
		}
		s.due[n] = nil
		*r = s.next
		r.Kind = record.KernelStack
		if n == 1 {
			r.Kind = record.UserStack
		}
		var err error
		s.stack, err = p.draw(s.rng, s.stack[:0])
		r.Stack = s.stack
		return err
	}
	return s.event(r)
}

func (s *Source) event(r *record.Record) error {
	if s.opt.Events > 0 && s.events == s.opt.Events {
		return io.EOF
	}
	c := s.cpu()
	switch {
	case s.opt.Duration > 0 && c.next > s.opt.Duration:
		return io.EOF
	case c.next > math.MaxInt64:
		return fmt.Errorf("after %s events the times of the model are too large", report.Group(s.events))
	}
	t := &s.types[s.whichType.draw(s.rng)]
	c.task(s.rng)
	s.next = record.Record{CPU: c.CPU.CPU, Time: c.next, Common: event.Common{Type: uint16(t.typ.ID), PID: c.pid}}
	*r = s.next
	r.Kind, r.Type = record.Event, t.typ
	if size := t.Sizes[t.sizes.draw(s.rng)][0]; size > 0 {
		s.data = append(s.data[:0], make([]byte, size)...)
		r.Common.Put(s.data)
		r.Data = s.data
	}
	if t.Kernel > 0 && s.rng.Uint64N(t.Events) < t.Kernel {
		s.due[0] = s.kernel
	}
	if t.User > 0 && s.rng.Uint64N(t.Events) < t.User {
		s.due[1] = s.user
	}
	if s.model.Learned.Seconds > 0 {
		c.next += c.gap(s.rng)
	}
	s.events++
	return nil
}

// cpu is the CPU of the next event: the one whose event is earliest.
func (s *Source) cpu() *cpuState {
	if s.model.Learned.Seconds == 0 {
		return &s.cpus[s.which.draw(s.rng)]
	}
	first := &s.cpus[0]
	for n := range s.cpus {
		if s.cpus[n].next < first.next {
			first = &s.cpus[n]
		}
	}
	return first
}

// task draws the task of the CPU's next event.
func (c *cpuState) task(rng *rand.Rand) {
	if c.hasBegun && rng.Float64() < c.Again {
		return
	}
	c.hasBegun = true
	if n := c.tasks.draw(rng); n < len(c.Tasks) {
		c.pid = c.Tasks[n].PID
	} else {
		c.pid = firstOther + rng.Int32N(int32(c.Others[0]))
	}
}

// gap draws a gap. It has as many binary digits as its row, and is around the row's mean.
func (c *cpuState) gap(rng *rand.Rand) uint64 {
	mean := c.Gaps[c.gaps.draw(rng)][0]
	if mean == 0 {
		return 0
	}
	low := uint64(1) << (bits.Len64(mean) - 1)
	reach := min(mean-low, 2*low-1-mean)
	return mean - reach + rng.Uint64N(2*reach+1)
}

// Caveats implements [report.Caveater].
func (s *Source) Caveats() []string {
	l := &s.model.Learned
	out := []string{fmt.Sprintf("drawn from a model of %s events; addresses are made up, and neither the order of events nor stays in the kernel are as there, so deferred stacks and coded ones are not predicted", report.Group(l.Events))}
	if l.Lost > 0 {
		out = append(out, fmt.Sprintf("the trace that the model was learned from had lost %s events", report.Group(l.Lost)))
	}
	if a := s.model.About; a != nil {
		out = append(out, "not in the model: "+a.Lacks)
	}
	out = append(out, l.Doubts()...)
	for _, p := range []*pool{s.kernel, s.user} {
		if p != nil && p.isBeyond() {
			out = append(out, fmt.Sprintf("%s stacks are more than the %s that the model was learned from; new ones among them follow Heaps' law with exponent %.3g", report.Group(p.n), report.Group(p.learned), *p.exponent))
		}
	}
	return out
}

// weights draws an index as often as its weight says.
type weights struct{ sums []uint64 }

func (w *weights) add(weight uint64) {
	if n := len(w.sums); n > 0 {
		weight += w.sums[n-1]
	}
	w.sums = append(w.sums, weight)
}

func (w *weights) draw(rng *rand.Rand) int {
	return w.at(rng.Uint64N(w.sum()))
}

func (w *weights) sum() uint64 { return w.sums[len(w.sums)-1] }

// at is the index that a number below the sum stands for.
func (w *weights) at(x uint64) int {
	return sort.Search(len(w.sums), func(n int) bool { return w.sums[n] > x })
}

// pool draws stacks. They stand in the order in which they appear.
type pool struct {
	growth   curve
	exponent *float64
	learned  uint64   // stacks
	depths   []uint16 // by stack
	family   *family
	sums     []float64 // of how often the stacks up to each one came
	rare     []uint16  // numbers of addresses of the rarest stacks, for those beyond the learned ones
	salt     uint64
	base     uint64 // of all addresses

	n     uint64 // stacks drawn
	known uint64 // different ones
	phase float64
}

// The addresses of the kernel begin with 17 ones, those of a process with zeros.
const (
	kernelBase = 0xffff800000000000
	userBase   = 0x1000
)

func newPool(s *Stacks, seed, base uint64) *pool {
	if s == nil {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, base))
	p := &pool{growth: curve{points: s.Growth}, exponent: s.Exponent, salt: mix(seed ^ base), base: base, phase: rng.Float64()}
	if s.Exponent != nil {
		p.growth.exponent = *s.Exponent
	}
	p.learned = s.Growth[len(s.Growth)-1][0]
	type entry struct {
		key, weight float64
		depth       uint16
	}
	var order []entry
	rarest := s.Ranked[len(s.Ranked)-1][0]
	for _, row := range s.Ranked {
		for range row[2] {
			// Sorted by such keys, stacks stand as if each were drawn, without putting back, as
			// often as its weight says.
			order = append(order, entry{rng.ExpFloat64() / float64(row[0]), float64(row[0]), uint16(row[1])})
			if row[0] <= rarest {
				p.rare = append(p.rare, uint16(row[1]))
			}
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return order[a].key < order[b].key })
	sum := 0.0
	for _, e := range order {
		sum += e.weight
		p.depths, p.sums = append(p.depths, e.depth), append(p.sums, sum)
	}
	p.family = newFamily(s.Own, p.depths, p.salt)
	return p
}

// draw appends the addresses of the next stack to dst.
func (p *pool) draw(rng *rand.Rand, dst []uint64) ([]uint64, error) {
	p.n++
	if p.exponent == nil && p.isBeyond() {
		return nil, fmt.Errorf("the model was learned from %s stacks, too few for a law of new ones (%s): it does not tell what comes after them", report.Group(p.learned), report.Group(lawStacks))
	}
	id := p.known
	if p.known == 0 || float64(p.known+1) <= math.Floor(p.growth.at(float64(p.n))+p.phase) {
		p.known++
	} else {
		id = p.again(rng)
	}
	depth := p.rare[mix(p.salt^id)%uint64(len(p.rare))]
	if id < uint64(len(p.depths)) {
		depth = p.depths[id]
	}
	return p.family.append(dst, p.base, id, p.depths, depth), nil
}

// isBeyond reports whether more stacks were drawn than learned, by more than chance makes
// of the same number of events.
func (p *pool) isBeyond() bool { return float64(p.n) > 1.1*float64(p.learned)+10 }

// again draws one of the stacks that have appeared. Those beyond the learned ones come as
// often as a stack that was seen once.
func (p *pool) again(rng *rand.Rand) uint64 {
	known := min(p.known, uint64(len(p.sums)))
	learned := p.sums[known-1]
	x := rng.Float64() * (learned + float64(p.known-known))
	if x >= learned {
		return min(known+uint64(x-learned), p.known-1)
	}
	return uint64(sort.Search(int(known)-1, func(n int) bool { return p.sums[n] > x }))
}
